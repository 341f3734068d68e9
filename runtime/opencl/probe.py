"""Trying a driver in a process of its own, which the driver may end.

    python -m tflgpu.runtime.opencl.probe LIBRARY LANES INDEX

lists the devices of a driver, then builds and runs a kernel with vectors of LANES floats on one of
them; of as many as it prefers if LANES is 0. If it can, kernels with instructions of the processor
follow. Lines of JSON say how far it came.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Iterator

from ..launch.attempt import say, told
from .find import preference
from .info import describe
from .instructions import Example, examples
from .library import OpenCLError, call, handles, make, sizes
from .platforms import devices
from .programs import build_log

FEWEST_LANES = 4  # The vectors of the narrowest profiles.
GROUP = 2  # Work-items of the kernel's only work-group.

_KERNEL = """
__kernel __attribute__((reqd_work_group_size({group}, 1, 1)))
void probe(__global const float{lanes} *x, __global float{lanes} *y) {{
  __local float{lanes} shared[{group}];
  int item = get_local_id(0);
  shared[item] = x[item];
  barrier(CLK_LOCAL_MEM_FENCE);
  float{lanes} v = shared[{group} - 1 - item];
  for (int s = 0; s < {group}; s++) {{
    v += x[s].s0 * x[item];
  }}
  if (v.s0 > 1e30f) {{
    v = clamp(exp(v), 0.0f, 6.0f) + tanh(rint(v)) + convert_float{lanes}(convert_int{lanes}_rte(v));
    v = select(v, -v, isless(v, x[0])) + vload_half{lanes}(item, (__global const half *)x);
  }}
  y[item] = v;
}}
"""
_READ_WRITE, _COPY = 1, 32
ERRORS = (OpenCLError, ArithmeticError)  # Of the driver, and of wrong results.


def try_vectors(device: int, lanes: int) -> Iterator[str]:
    """Build and run the kernel on a device; yields the name of each step before it is taken.

    OpenCLError if the driver says that a step failed, ArithmeticError if the results are wrong.
    """
    text = _KERNEL.format(group=GROUP, lanes=lanes)
    values = [float(1 + place % 7) for place in range(GROUP * lanes)]
    factor = sum(values[item * lanes] for item in range(GROUP))
    expected = [
        values[(GROUP - 1 - place // lanes) * lanes + place % lanes] + factor * values[place]
        for place in range(len(values))
    ]
    data, wanted = (struct.pack(f"{len(values)}f", *each) for each in (values, expected))
    yield from _try(device, text, GROUP, data, wanted)


def try_instruction(device: int, example: Example) -> Iterator[str]:
    """The same for the kernel with an instruction."""
    data, wanted = (
        struct.pack(f"{len(each)}i", *each) for each in (example.words, example.results)
    )
    yield from _try(device, example.source, 1, data, wanted)


def _try(device: int, text: str, group: int, data: bytes, wanted: bytes) -> Iterator[str]:
    yield "opening"
    only = handles(device)
    context = make("clCreateContext", None, 1, only, None, None)
    queue = make("clCreateCommandQueue", context, device, 0)
    source = (ctypes.c_char_p * 1)(text.encode())
    program = make("clCreateProgramWithSource", context, 1, source, None)
    yield "building a kernel"
    try:
        call("clBuildProgram", program, 1, only, b"", None, None)
    except OpenCLError as error:
        first, *_ = build_log(program, device, error).splitlines()
        raise ArithmeticError(f"its compiler rejects a kernel: {first}") from error
    yield "running a kernel"
    kernel = make("clCreateKernel", program, b"probe")
    result = ctypes.create_string_buffer(len(wanted))
    buffers = [
        make("clCreateBuffer", context, _READ_WRITE | _COPY, len(content), content)
        for content in (data, result)
    ]
    for place, buffer in enumerate(buffers):
        pointer = ctypes.byref(ctypes.c_void_p(buffer))
        call("clSetKernelArg", kernel, place, ctypes.sizeof(ctypes.c_void_p), pointer)
    shape = sizes(group)
    call("clEnqueueNDRangeKernel", queue, kernel, 1, None, shape, shape, 0, None, None)
    call("clEnqueueReadBuffer", queue, buffers[1], 1, 0, len(result), result, 0, None, None)
    if result.raw != wanted:
        raise ArithmeticError("the kernel's results are wrong")


def main() -> None:
    library = sys.argv[1]
    lanes, index = map(int, sys.argv[2:])
    say("step", "listing its devices")
    found = [(handle, describe(handle)) for handle in devices([library])]
    say(
        "devices",
        [
            (str(info), info.driver, max(FEWEST_LANES, info.vector_width), preference(info))
            for _, info in found
        ],
    )
    if index < len(found):
        handle, info = found[index]
        lanes = lanes or max(FEWEST_LANES, info.vector_width)
        say("result", told(try_vectors(handle, lanes), *ERRORS))
        for name, example in examples(lanes).items():
            # Should it end the process, the device is none the worse.
            if info.type == "cpu" and not told(try_instruction(handle, example), *ERRORS):
                say("instruction", name)
    else:
        say("result", "")
    # Some drivers crash when their libraries are unloaded, which does no harm.
    os._exit(0)


if __name__ == "__main__":
    main()
