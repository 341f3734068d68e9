"""Trying an adapter in a process of its own, which its driver may end.

    python -m tflgpu.runtime.webgpu.probe INDEX

lists the adapters, then builds and runs a kernel on one of them.
"""

import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import DeviceError
from ..launch.attempt import say, told
from ..launch.device import LaunchGrid
from ..plan.kernels import Kernel
from .find import opened, present

_ITEMS = 64
_SOURCE = f"""
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
var<workgroup> turned: array<vec4f, {_ITEMS}>;

@compute @workgroup_size({_ITEMS})
fn probe(@builtin(local_invocation_id) local: vec3u) {{
  let item = local.x;
  turned[{_ITEMS - 1}u - item] = x[item].wzyx;
  workgroupBarrier();
  y[item] = turned[item] * 2.0 + x[item];
}}
"""


def try_adapter(adapter: Any) -> Iterator[str]:
    """Build and run the kernel; yields the name of each step before it is taken.

    DeviceError if the driver says that a step failed, ArithmeticError if the results are wrong.
    """
    yield "opening"
    device = opened(adapter)
    yield "compiling a kernel"
    kernel = Kernel("probe", "probe.wgsl", b"", (_ITEMS, 1, 1), 2)
    programs = device.build([kernel], "", {kernel.file: _SOURCE})
    yield "running a kernel"
    x = np.arange(4 * _ITEMS, dtype=np.float32)
    buffers = [device.allocate(x.nbytes) for _ in range(2)]
    device.upload(buffers[0], x)
    grid = LaunchGrid(kernel.group, kernel.group, True)
    device.enqueue([device.bind(programs[0], buffers, grid)])
    result = np.empty_like(x)
    device.download(buffers[1], result)
    device.finish()
    if not np.array_equal(result, x[::-1] * 2 + x):
        raise ArithmeticError("the kernel's results are wrong")


def main() -> None:
    index = int(sys.argv[1])
    say("step", "listing its adapters")
    found = present()
    say("devices", [(str(info), info.driver) for info, _ in found])
    steps = try_adapter(found[index][1]) if index < len(found) else iter(())
    say("result", told(steps, DeviceError, ArithmeticError))
    # Some drivers crash when their libraries are unloaded, which does no harm.
    os._exit(0)


if __name__ == "__main__":
    main()
