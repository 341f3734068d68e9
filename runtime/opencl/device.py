"""OpenCL devices: finding them, and running kernels on one of them."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from ctypes import POINTER, byref, c_void_p, cast, sizeof
from math import prod
from sys import byteorder
from typing import Any

from ..errors import DeviceError
from ..launch.device import DeviceInfo, misaligned
from ..plan.records import Kernel, Plan, Region
from ..plan.sizes import region_size
from .command_buffers import EXTENSION, CommandBuffers
from .info import orders_atomics, ranked, shares_memory
from .library import OpenCLError, Owned, call, driver_call, handles, library, make, query, sizes
from .memory import OpenCLMemory
from .pocl import knows_processor
from .processors import usable_processors
from .programs import OpenCLPrograms, Program

BUILD_OPTIONS = "-cl-mad-enable -w"
PERSISTENT_OPTIONS = f"{BUILD_OPTIONS} -cl-std=CL3.0"
"""Where persistent kernels run: atomic counters with an order came with OpenCL C 2.0."""
SUB_GROUPS = "cl_intel_required_subgroup_size"
"""The extension by which a kernel asks for sub-groups of a size."""
Launch = tuple[Any, ...]
"""What to call, and its arguments, as ctypes hands them over without conversion."""

# What OpenCL's headers call them, with CL_ in front.
_KERNEL_NUM_ARGS = 0x1191
_QUEUE_PROFILING_ENABLE = 2
_DEVICE_PLATFORM = 0x1031
_PROFILING_COMMAND_START, _PROFILING_COMMAND_END = 0x1282, 0x1283


# -- finding ----------------------------------------------------------------------------------


def devices() -> list[DeviceInfo]:
    """Every OpenCL device present that can compile, the one "auto" takes first."""
    return [info for info, device in ranked() if knows_processor(device)]


def select_device(name: str = "auto") -> DeviceInfo:
    """The best device, of those with `name` in their text (any case) unless it is "auto".

    DeviceError that lists what is there if nothing matches.
    """
    return _select(name)[0]


def open_device(name: str = "auto") -> OpenCLDevice:
    """The device `select_device` gives, ready to work (DeviceError)."""
    info, device = _select(name)
    with driver_call(str(info), "opening the device"):
        return OpenCLDevice(info, device)


def _select(name: str) -> tuple[DeviceInfo, int]:
    found = ranked()
    asked_for = [
        (info, device)
        for info, device in found
        if name == "auto" or name.lower() in str(info).lower()
    ]
    for info, device in asked_for:
        if knows_processor(device):
            return info, device
    if asked_for:
        raise DeviceError(
            f"{asked_for[0][0]} does not know this processor, which is newer than the driver, and "
            "so cannot compile for it; install a newer PoCL (pocl-opencl-icd on Debian and "
            "Ubuntu), or Intel's driver: pip install 'tflgpu[intel]'"
        )
    if not found:
        raise DeviceError(
            "there is no OpenCL device; one that runs on the processor comes with: "
            "pip install 'tflgpu[pocl]'"
        )
    listing = "".join(f"\n  {info}" for info in devices())
    raise DeviceError(f"no OpenCL device has {name!r} in its name; there are:{listing}")


# -- running ----------------------------------------------------------------------------------


class OpenCLDevice:
    """One OpenCL device with a context and an in-order queue. See `device.Device`."""

    has_binaries = True

    def __init__(self, info: DeviceInfo, device: int) -> None:
        """Of a description and the driver's handle (OpenCLError)."""
        self.info = info
        self._name = str(info)
        on_host = info.unified and info.type == "cpu"
        # Elsewhere launches cost little, and a group of one work-item would leave most idle.
        persistent = on_host and orders_atomics(device)
        self.resident_groups = min(info.compute_units, usable_processors()) if persistent else 0
        self._device = device
        self._context = make("clCreateContext", None, 1, handles(device), None, None)
        self._queue = make("clCreateCommandQueue", self._context, device, 0)
        self._owned = Owned()
        self._owned.add("clReleaseContext", self._context)
        self._owned.add("clReleaseCommandQueue", self._queue)
        # A function of its own, as knowing no types makes a launch a third faster.
        self._enqueue = library()["clEnqueueNDRangeKernel"]
        shared = on_host and shares_memory(device)
        handled = (self._context, self._queue, self._owned)
        self._memory = OpenCLMemory(self._name, *handled, on_host, shared)
        self._commands = self._command_buffers()
        options = PERSISTENT_OPTIONS if persistent else BUILD_OPTIONS
        self._programs = OpenCLPrograms(self._name, self._context, device, self._owned, options)
        # A device that is dropped without being released gives its memory back all the same.
        self._finalizer = weakref.finalize(self, _release, self._queue, self._owned, self._memory)
        self._finalizer.atexit = False

    def _command_buffers(self) -> CommandBuffers | None:
        """None where the driver has none."""
        if EXTENSION not in self.info.extensions:
            return None
        platform = query("clGetDeviceInfo", self._device, _DEVICE_PLATFORM)
        with suppress(OpenCLError):
            return CommandBuffers(int.from_bytes(platform, byteorder), self._queue, self._owned)
        return None

    def objection(self, plan: Plan) -> str | None:
        if plan.target != "opencl":
            return f"it was compiled for {plan.target}, this device runs opencl"
        for kernel in plan.kernels:
            limits = self.info.max_group_sizes
            if prod(kernel.group) > self.info.max_group or any(
                size > limit for size, limit in zip(kernel.group, limits, strict=False)
            ):
                return f"{kernel.file} has work-groups of {list(kernel.group)}, too many work-items"
            if kernel.sub_group and SUB_GROUPS not in self.info.extensions:
                return (
                    f"{kernel.file} relies on sub-groups of {kernel.sub_group} work-items, this "
                    f"device has no {SUB_GROUPS}"
                )
        found = misaligned(plan, self.info.alignment) or self._too_large(plan)
        return found or self._too_many_texels(plan)

    def _too_many_texels(self, plan: Plan) -> str | None:
        limit = self.info.image_texels
        for index, dispatch in enumerate(plan.dispatches):
            for argument in dispatch.arguments:
                if argument.texel and argument.size // argument.texel > limit:
                    return (
                        f"dispatch {index} ({dispatch.label}) reads an image of "
                        f"{argument.size // argument.texel} texels, this device has none of more "
                        f"than {limit}"
                    )
        return None

    def _too_large(self, plan: Plan) -> str | None:
        sizes = {"the arena": plan.arena_size, "the weights": plan.weights_size}
        for region, infos in ((Region.INPUT, plan.inputs), (Region.OUTPUT, plan.outputs)):
            for index, info in enumerate(infos):
                sizes[f"{region.name.lower()} {info.name}"] = region_size(plan, region, index)
        for index, variable in enumerate(plan.variables):
            sizes[f"the variable {variable.name}"] = region_size(plan, Region.STATE, index)
        limit = self.info.max_allocation
        for name, size in sizes.items():
            if size > limit:
                return f"{name} has {size} bytes, a buffer of this device at most {limit}"
        return None

    @property
    def build_options(self) -> str:
        return self._programs.options

    def build(
        self, plan: Plan, kernels: Sequence[Kernel], sources: Mapping[str, str]
    ) -> list[Program]:
        return self._programs.build(kernels, sources)

    def binary(self, programs: Sequence[Program]) -> bytes | None:
        return self._programs.binary(programs)

    def restore(self, plan: Plan, kernels: Sequence[Kernel], binary: bytes) -> list[Program] | None:
        return self._programs.restore(kernels, binary)

    def allocate(self, size: int) -> int:
        return self._memory.allocate(size)

    def constant(self, data: memoryview) -> int:
        return self._memory.constant(data)

    def part(self, buffer: int, offset: int, size: int) -> int:
        return self._memory.part(buffer, offset, size)

    def image(self, buffer: int, offset: int, size: int, texel: int) -> int:
        return self._memory.image(buffer, offset, size, texel)

    def prepare(
        self,
        program: Program,
        arguments: Sequence[int],
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        barrier: bool,
    ) -> Launch:
        """The queue runs launches in their order, each after the last, with or without barriers."""
        compiled, name = program
        with driver_call(self._name, f"binding the arguments of {name}"):
            # Arguments belong to the kernel object, so every launch has one of its own.
            kernel = make("clCreateKernel", compiled, name.encode())
            self._owned.add("clReleaseKernel", kernel)
            taken = int.from_bytes(query("clGetKernelInfo", kernel, _KERNEL_NUM_ARGS), byteorder)
            if taken != len(arguments):
                raise DeviceError(
                    f"kernel {name} takes {taken} arguments, the plan gives it {len(arguments)}; "
                    f"compile the model again"
                )
            for position, argument in enumerate(arguments):
                pointer = byref(c_void_p(argument))
                call("clSetKernelArg", kernel, position, sizeof(c_void_p), pointer)
        queue = c_void_p(self._queue)
        extents = (None, sizes(*grid), sizes(*group))
        return (self._enqueue, queue, c_void_p(kernel), len(grid), *extents, 0, None, None)

    def record(self, launches: Sequence[Launch]) -> Sequence[Launch]:
        if self._commands is None or len(launches) < 2:
            return launches
        with suppress(OpenCLError):
            return [self._commands.record([arguments for _, *arguments in launches])]
        return launches

    def upload(self, buffer: int, array: Any, offset: int = 0) -> None:
        self._memory.upload(buffer, array, offset)

    def download(self, buffer: int, array: Any, offset: int = 0) -> None:
        self._memory.download(buffer, array, offset)

    def fill(self, buffer: int, size: int, byte: int) -> None:
        self._memory.fill(buffer, size, byte)

    def dispatch(self, launches: Sequence[Launch]) -> None:
        self._memory.busy = True
        with driver_call(self._name, "launching the kernels"):
            for enqueue, *arguments in launches:
                status = enqueue(*arguments)
                if status:
                    raise OpenCLError(enqueue.__name__, status)

    def finish(self) -> None:
        self._memory.finish("running the kernels")

    def profile(self, launches: Sequence[Launch]) -> list[float]:
        events = handles(*[0] * len(launches))
        with driver_call(self._name, "timing the kernels"):
            properties = _QUEUE_PROFILING_ENABLE
            queue = make("clCreateCommandQueue", self._context, self._device, properties)
            for place, launch in enumerate(launches):
                event = cast(byref(events, place * sizeof(c_void_p)), POINTER(c_void_p))
                call("clEnqueueNDRangeKernel", queue, *launch[2:-1], event)
            call("clFinish", queue)
            times = [_seconds(event) for event in events]
            for event in events:
                call("clReleaseEvent", event)
            call("clReleaseCommandQueue", queue)
        return times

    def release(self) -> None:
        self._finalizer()


def _seconds(event: int) -> float:
    """How long a launch took on the device (OpenCLError)."""
    start, end = (
        int.from_bytes(query("clGetEventProfilingInfo", event, name), byteorder)
        for name in (_PROFILING_COMMAND_START, _PROFILING_COMMAND_END)
    )
    return (end - start) * 1e-9


def _release(queue: int, owned: Owned, memory: OpenCLMemory) -> None:
    # Whatever failed before has been reported; here everything goes that still can, parts before
    # what they are parts of.
    with suppress(OpenCLError):
        call("clFinish", queue)
    owned.release()
    memory.release()
