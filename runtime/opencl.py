"""OpenCL devices through pyopencl: finding them, and running kernels on one of them."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import prod
from typing import Any

from .device import DeviceInfo, misaligned
from .errors import BuildError, DeviceError
from .joined_binaries import join_binaries, split_binaries
from .opencl_source import join_sources, numbered
from .plan import Kernel, Plan, Region
from .pocl import knows_processor, pocl_version
from .starting import start_drivers
from .verify import region_size

try:
    import pyopencl as cl
except ImportError as error:
    raise DeviceError(
        "pyopencl is not installed; an OpenCL driver for the processor comes along with: "
        "pip install 'tflgpu[pocl]'"
    ) from error

BUILD_OPTIONS = ["-cl-mad-enable", "-w"]
Program = tuple[cl.Program, str]
"""A compiled program and the name of a kernel in it."""
# Filters of warnings belong to the whole process; only one build may change them at a time.
_BUILDING = threading.Lock()


# -- finding ----------------------------------------------------------------------------------


def devices() -> list[DeviceInfo]:
    """Every OpenCL device present that can compile, the one "auto" takes first."""
    return [info for info, device in _ranked() if knows_processor(device)]


def select_device(name: str = "auto") -> DeviceInfo:
    """The best device, of those with `name` in their text (any case) unless it is "auto".

    DeviceError that lists what is there if nothing matches.
    """
    return _select(name)[0]


def open_device(name: str = "auto") -> OpenCLDevice:
    """The device `select_device` gives, ready to work (DeviceError)."""
    info, device = _select(name)
    with _driver_call(str(info), "opening the device"):
        return OpenCLDevice(info, device)


def _select(name: str) -> tuple[DeviceInfo, cl.Device]:
    present = _ranked()
    asked_for = [
        (info, device)
        for info, device in present
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
    if not present:
        raise DeviceError(
            "there is no OpenCL device; one that runs on the processor comes with: "
            "pip install 'tflgpu[pocl]'"
        )
    listing = "".join(f"\n  {info}" for info in devices())
    raise DeviceError(f"no OpenCL device has {name!r} in its name; there are:{listing}")


def _ranked() -> list[tuple[DeviceInfo, cl.Device]]:
    """What is present, with the driver's objects."""
    start_drivers().join()
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        # The loader's way to say that no driver is installed.
        return []
    found = []
    for platform in platforms:
        # A driver whose hardware is absent may raise instead of returning an empty list.
        with suppress(cl.Error):
            found += [(_describe(device), device) for device in platform.get_devices()]
    return sorted(found, key=lambda pair: preference(pair[0]), reverse=True)


def preference(info: DeviceInfo) -> tuple[Any, ...]:
    """Greater is better: GPUs, discrete ones first, then Intel's CPU driver, then newer PoCL."""
    return (
        ("other", "cpu", "accelerator", "gpu").index(info.type),
        not info.unified,
        "intel" in info.platform.lower() if info.type == "cpu" else False,
        pocl_version(info.version),
        info.compute_units,
    )


def _type(device: cl.Device) -> str:
    for name in ("gpu", "accelerator", "cpu"):
        if device.type & getattr(cl.device_type, name.upper()):
            return name
    return "other"


def _describe(device: cl.Device) -> DeviceInfo:
    return DeviceInfo(
        name=device.name.strip(),
        platform=device.platform.name.strip(),
        version=" ".join(device.platform.version.split()),
        driver=device.driver_version.strip(),
        type=_type(device),
        vendor=device.vendor.strip(),
        vector_width=device.native_vector_width_float,
        alignment=max(1, device.mem_base_addr_align // 8),
        max_group=device.max_work_group_size,
        max_group_sizes=tuple(device.max_work_item_sizes),
        max_allocation=device.max_mem_alloc_size,
        local_memory=device.local_mem_size,
        compute_units=device.max_compute_units,
        unified=bool(device.host_unified_memory),
        extensions=tuple(device.extensions.split()),
    )


# -- running ----------------------------------------------------------------------------------


@contextmanager
def _driver_call(device: str, doing: str) -> Iterator[None]:
    """Turn a driver's error into a DeviceError with the status by name."""
    try:
        yield
    except cl.Error as error:
        status = cl.status_code.to_string(error.code, "status %d")
        raise DeviceError(
            f"{device}: {error.routine} failed with {status} while {doing}"
        ) from error


class OpenCLDevice:
    """One OpenCL device with a context and an in-order queue. See `device.Device`."""

    has_binaries = True
    build_options = " ".join(BUILD_OPTIONS)

    def __init__(self, info: DeviceInfo, device: cl.Device) -> None:
        """Of a description and the driver's object (cl.Error)."""
        self.info = info
        self._name = str(info)
        self._on_host = info.unified and info.type == "cpu"
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context)
        self._buffers: list[cl.Buffer] = []
        self._pending: list[cl.Event] = []

    def objection(self, plan: Plan) -> str | None:
        if plan.target != "opencl":
            return f"it was compiled for {plan.target}, this device runs opencl"
        for kernel in plan.kernels:
            limits = self.info.max_group_sizes
            if prod(kernel.group) > self.info.max_group or any(
                size > limit for size, limit in zip(kernel.group, limits, strict=False)
            ):
                return f"{kernel.file} has work-groups of {list(kernel.group)}, too many work-items"
        return misaligned(plan, self.info.alignment) or self._too_large(plan)

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

    def build(self, plan: Plan, sources: Mapping[str, str]) -> list[Program]:
        """All files as one program, which compiles several times faster than one by one.

        Where that fails each file is built alone, which finds the one at fault (BuildError).
        """
        texts = {kernel.file: sources[kernel.file] for kernel in plan.kernels}
        names = [kernel.name for kernel in plan.kernels]
        if names and len(set(names)) == len(names):
            with suppress(cl.Error):
                program = self._compile(join_sources(texts))
                return [(program, name) for name in names]
        alone: dict[str, cl.Program] = {}
        for kernel in plan.kernels:
            text = texts[kernel.file]
            if text not in alone:
                alone[text] = self._build_alone(kernel, text)
        return [(alone[texts[kernel.file]], kernel.name) for kernel in plan.kernels]

    def _build_alone(self, kernel: Kernel, source: str) -> cl.Program:
        try:
            return self._compile(join_sources({kernel.file: source}))
        except cl.Error as error:
            raise BuildError(kernel.file, str(error), numbered(source)) from error

    def _compile(self, content: str | bytes) -> cl.Program:
        """A program from its source, or from a binary."""
        if isinstance(content, str):
            program = cl.Program(self._context, content)
        else:
            program = cl.Program(self._context, self._context.devices, [content])
        with _BUILDING, warnings.catch_warnings():
            # Remarks of the device's compiler are no fault of the plan.
            warnings.simplefilter("ignore", cl.CompilerWarning)
            return program.build(BUILD_OPTIONS, cache_dir=False)

    def binary(self, programs: Sequence[Program]) -> bytes | None:
        compiled = list(dict.fromkeys(program for program, _ in programs))
        with _driver_call(self._name, "reading the compiled kernels"):
            contents = [program.get_info(cl.program_info.BINARIES)[0] for program in compiled]
        # An empty binary is the driver's way to say that it gives none.
        if not all(contents):
            return None
        places = [compiled.index(program) for program, _ in programs]
        return join_binaries(contents, places)

    def restore(self, plan: Plan, binary: bytes) -> list[Program] | None:
        parts = split_binaries(binary)
        if parts is None or len(parts[1]) != len(plan.kernels):
            return None
        contents, places = parts
        try:
            programs = [self._compile(content) for content in contents]
        except cl.Error:
            return None
        kernels = zip(places, plan.kernels, strict=True)
        return [(programs[place], kernel.name) for place, kernel in kernels]

    def allocate(self, size: int) -> cl.Buffer:
        flags = cl.mem_flags.READ_WRITE
        if self._on_host:
            # PoCL allocates at first use otherwise, and ends the process if there is no memory.
            flags |= cl.mem_flags.ALLOC_HOST_PTR
        with _driver_call(self._name, f"allocating {size} bytes"):
            # A buffer cannot be empty; kernels that are given an empty one never read it.
            buffer = cl.Buffer(self._context, flags, max(size, 1))
        self._buffers.append(buffer)
        return buffer

    def constant(self, data: memoryview) -> cl.Buffer:
        if not data.nbytes:
            return self.allocate(0)
        # The file's own pages serve a device that works on the host's memory; others get a copy.
        place = cl.mem_flags.USE_HOST_PTR if self._on_host else cl.mem_flags.COPY_HOST_PTR
        with _driver_call(self._name, f"copying {data.nbytes} bytes of weights"):
            buffer = cl.Buffer(self._context, cl.mem_flags.READ_ONLY | place, hostbuf=data)
        self._buffers.append(buffer)
        return buffer

    def part(self, buffer: cl.Buffer, offset: int, size: int) -> cl.Buffer:
        with _driver_call(self._name, f"taking {size} bytes at {offset} of a buffer"):
            part = buffer.get_sub_region(offset, size)
        # A part has to go before the buffer it is a part of.
        self._buffers.insert(0, part)
        return part

    def prepare(
        self,
        program: Program,
        arguments: Sequence[cl.Buffer],
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        barrier: bool,
    ) -> tuple[cl.Kernel, tuple[int, int, int], tuple[int, int, int]]:
        """The queue runs launches in their order, each after the last, with or without barriers."""
        with _driver_call(self._name, f"binding the arguments of {program[1]}"):
            # Arguments belong to the kernel object, so every launch has one of its own.
            kernel = cl.Kernel(*program)
            if kernel.num_args != len(arguments):
                raise DeviceError(
                    f"kernel {program[1]} takes {kernel.num_args} arguments, the plan gives it "
                    f"{len(arguments)}; compile the model again"
                )
            for position, argument in enumerate(arguments):
                kernel.set_arg(position, argument)
        return (kernel, grid, group)

    def upload(self, buffer: cl.Buffer, array: Any, offset: int = 0) -> None:
        if array.nbytes:
            with _driver_call(self._name, "copying an input"):
                event = cl.enqueue_copy(
                    self._queue, buffer, array, dst_offset=offset, is_blocking=False
                )
            self._pending.append(event)

    def fill(self, buffer: cl.Buffer, size: int, byte: int) -> None:
        if size:
            with _driver_call(self._name, f"filling {size} bytes"):
                cl.enqueue_fill_buffer(self._queue, buffer, bytes([byte]), 0, size)

    def dispatch(self, launches: Sequence[Any]) -> None:
        enqueue, queue = cl.enqueue_nd_range_kernel, self._queue
        with _driver_call(self._name, "launching the kernels"):
            for kernel, grid, group in launches:
                enqueue(queue, kernel, grid, group)

    def download(self, buffer: cl.Buffer, array: Any, offset: int = 0) -> None:
        if array.nbytes:
            with _driver_call(self._name, "copying an output"):
                event = cl.enqueue_copy(
                    self._queue, array, buffer, src_offset=offset, is_blocking=False
                )
            self._pending.append(event)

    def finish(self) -> None:
        with _driver_call(self._name, "running the kernels"):
            self._queue.finish()
        # The events keep the arrays alive that were being copied.
        self._pending.clear()

    def profile(self, launches: Sequence[Any]) -> list[float]:
        with _driver_call(self._name, "timing the kernels"):
            properties = cl.command_queue_properties.PROFILING_ENABLE
            queue = cl.CommandQueue(self._context, properties=properties)
            events = [
                cl.enqueue_nd_range_kernel(queue, kernel, grid, group)
                for kernel, grid, group in launches
            ]
            queue.finish()
            return [(event.profile.end - event.profile.start) * 1e-9 for event in events]

    def release(self) -> None:
        # Whatever failed before has been reported; here everything goes that still can.
        with suppress(cl.Error):
            self._queue.finish()
        self._pending.clear()
        for buffer in self._buffers:
            buffer.release()
        self._buffers.clear()
        del self._queue, self._context
