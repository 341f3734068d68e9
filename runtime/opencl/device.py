"""Running kernels on an OpenCL device."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from ctypes import POINTER, byref, c_void_p, cast, sizeof
from sys import byteorder
from typing import Any

from ..errors import DeviceError
from ..launch.callers_memory import CallersMemory
from ..launch.device import Device, DeviceInfo, LaunchGrid, Sources
from ..plan.kernels import Kernel
from ..plan.records import Plan
from ..processor import usable_cores
from ..startup import DRIVER_PROCESS
from .callers_memory import check_memory
from .command_buffers import EXTENSION, LEAKING, CommandBuffers
from .functions import functions_of
from .info import device_platform, orders_atomics, shares_addresses, shares_memory
from .library import OpenCLError, OwnedHandles, call, driver_call, handles, make, query, sizes
from .marker import OpenCLMarker, wait_for
from .memory import SLOW_SUB_BUFFERS, Address, OpenCLMemory, image_copy
from .programs import OpenCLPrograms, Program
from .trials import known

# A function and its arguments, which ctypes passes on without conversion.
Command = tuple[Any, ...]

# As in OpenCL's headers, without the prefix CL_.
_KERNEL_NUM_ARGS = 0x1191
_QUEUE_PROFILING_ENABLE = 2
_PROFILING_COMMAND_START, _PROFILING_COMMAND_END = 0x1282, 0x1283


class OpenCLDevice(Device):
    """An OpenCL device with a context and an in-order queue."""

    calls: AbstractContextManager[Any] = nullcontext()
    has_binaries = True

    def __init__(self, info: DeviceInfo, device: int, context: int = 0, queue: int = 0) -> None:
        """All are handles, 0 for a new one; those of the caller are retained (OpenCLError)."""
        self.info = info
        self._name = str(info)
        on_host = info.unified and info.type == "cpu"
        # Launches on other devices are cheap, and a group of one work-item would waste most lanes.
        persistent = on_host and orders_atomics(device)
        self.resident_groups = min(info.compute_units, usable_cores()) if persistent else 0
        self._device = device
        if context:
            call("clRetainContext", context)
        self._context = context or make("clCreateContext", None, 1, handles(device), None, None)
        if queue:
            call("clRetainCommandQueue", queue)
        self._queue = queue or make("clCreateCommandQueue", self._context, device, 0)
        self._owned = OwnedHandles()
        self._owned.add("clReleaseContext", self._context)
        self._owned.add("clReleaseCommandQueue", self._queue)
        self._enqueue = functions_of(self._queue).untyped("clEnqueueNDRangeKernel")
        shared = on_host and shares_memory(device)
        addressed = info.platform in SLOW_SUB_BUFFERS and shares_addresses(device)
        objects = (self._context, self._queue, self._owned)
        self._memory = OpenCLMemory(self._name, *objects, on_host, shared, addressed)
        self._command_buffers = self._open_command_buffers()
        defines = "".join(f" -D {name.upper()}" for name in info.instructions)
        self._programs = OpenCLPrograms(self._name, self._context, device, self._owned, defines)
        # Frees everything even if the device is dropped without being released.
        self._finalizer = weakref.finalize(self, _release, self._queue, self._owned, self._memory)
        self._finalizer.atexit = False

    def _open_command_buffers(self) -> CommandBuffers | None:
        """None if the driver does not support them, or leaks them."""
        if EXTENSION not in self.info.limits.extensions or self.info.platform in LEAKING:
            return None
        with suppress(OpenCLError):
            return CommandBuffers(device_platform(self._device), self._queue, self._owned)
        return None

    def unsupported_reason(self, plan: Plan) -> str | None:
        if (reason := super().unsupported_reason(plan)) is not None:
            return reason
        lanes = max((tensor.lanes for tensor in plan.tensors), default=0)
        reason = known().reason_against(self._name, self.info.driver, lanes)
        return f"its vectors of {lanes} floats are too wide: {reason}" if reason else None

    def build(self, kernels: Sequence[Kernel], options: str, sources: Sources) -> list[Program]:
        return self._programs.build(kernels, options, sources)

    def binary(self, programs: Sequence[Program]) -> bytes | None:
        return self._programs.binary(programs)

    def restore(
        self, kernels: Sequence[Kernel], options: str, binary: bytes
    ) -> list[Program] | None:
        return self._programs.restore(kernels, options, binary)

    def allocate(self, size: int) -> int:
        return self._memory.allocate(size)

    def constant(self, data: memoryview) -> int:
        return self._memory.constant(data)

    def adopt(
        self, memory: CallersMemory, size: int, writes: bool
    ) -> tuple[int, Sequence[Command]]:
        check_memory(memory, self.info, self._context, writes)
        adopted = self._memory.adopt(memory, size)
        if not memory.texture:
            return adopted, ()
        buffer = self.allocate(size)
        return buffer, [image_copy(self._queue, memory, buffer, writes)]

    def mapped(self, buffer: int, size: int) -> Any:
        return self._memory.mapped(buffer, size)

    @contextmanager
    def scope(self) -> Iterator[Callable[[], None]]:
        with self._owned.scope() as free:
            # Shared memory is freed in its context, even after the device has been released.
            with driver_call(self._name, "allocating memory"):
                call("clRetainContext", self._context)
            self._owned.add("clReleaseContext", self._context)
            try:
                yield free
            except BaseException:
                # Memory that is about to be freed may still be being filled.
                with suppress(DeviceError):
                    self.finish()
                raise

    def sub_buffer(self, buffer: int, offset: int, size: int) -> int:
        return self._memory.sub_buffer(buffer, offset, size)

    def image(self, buffer: int, offset: int, size: int, texel: int) -> int:
        return self._memory.image(buffer, offset, size, texel)

    def bind(self, program: Program, arguments: Sequence[int], grid: LaunchGrid) -> Command:
        """The queue is in-order, so that barriers make no difference."""
        compiled, name = program
        with driver_call(self._name, f"binding the arguments of {name}"):
            # Arguments belong to the kernel object, so every command has one of its own.
            kernel = make("clCreateKernel", compiled, name.encode())
            self._owned.add("clReleaseKernel", kernel)
            taken = int.from_bytes(query("clGetKernelInfo", kernel, _KERNEL_NUM_ARGS), byteorder)
            if taken != len(arguments):
                raise DeviceError(
                    f"kernel {name} has {taken} parameters, but the plan passes {len(arguments)} "
                    f"arguments; compile the model again"
                )
            for position, argument in enumerate(arguments):
                if isinstance(argument, Address):
                    call("clSetKernelArgSVMPointer", kernel, position, argument)
                    continue
                pointer = byref(c_void_p(argument))
                call("clSetKernelArg", kernel, position, sizeof(c_void_p), pointer)
        queue = c_void_p(self._queue)
        extents = (3, None, sizes(*grid.items), sizes(*grid.group))
        return (self._enqueue, queue, c_void_p(kernel), *extents, 0, None, None)

    def record(self, commands: Sequence[Command]) -> Sequence[Command]:
        if self._command_buffers is None or len(commands) < 2:
            return commands
        with suppress(OpenCLError):
            return [self._command_buffers.record([arguments for _, *arguments in commands])]
        return commands

    def upload(self, buffer: int, array: Any, offset: int = 0) -> None:
        self._memory.upload(buffer, array, offset)

    def download(self, buffer: int, array: Any, offset: int = 0) -> None:
        self._memory.download(buffer, array, offset)

    def fill(self, buffer: int, size: int, byte: int) -> None:
        self._memory.fill(buffer, size, byte)

    def enqueue(self, commands: Sequence[Command]) -> None:
        self._memory.busy = True
        for enqueue, *arguments in commands:
            status = enqueue(*arguments)
            if status:
                with driver_call(self._name, "launching the kernels"):
                    raise OpenCLError(enqueue.__name__, status)

    def wait_for(self, events: Sequence[Any]) -> None:
        wait_for(self._name, self._queue, events)
        self._memory.busy = True

    def mark(self) -> OpenCLMarker:
        return OpenCLMarker(self._name, self._queue, self._memory.taken())

    def finish(self) -> None:
        self._memory.finish("running the kernels")

    def profile(self, commands: Sequence[Command]) -> list[float]:
        events = handles(*[0] * len(commands))
        with driver_call(self._name, "timing the kernels"):
            properties = _QUEUE_PROFILING_ENABLE
            queue = make("clCreateCommandQueue", self._context, self._device, properties)
            try:
                for place, command in enumerate(commands):
                    event = cast(byref(events, place * sizeof(c_void_p)), POINTER(c_void_p))
                    call("clEnqueueNDRangeKernel", queue, *command[2:-1], event)
                call("clFinish", queue)
                return [_seconds(event) for event in events]
            finally:
                _release_queue(queue, events)

    def release(self) -> None:
        self._finalizer()


def _seconds(event: int) -> float:
    """The time that a launch took on the device (OpenCLError)."""
    start, end = (
        int.from_bytes(query("clGetEventProfilingInfo", event, name), byteorder)
        for name in (_PROFILING_COMMAND_START, _PROFILING_COMMAND_END)
    )
    return (end - start) * 1e-9


def _release_queue(queue: int, events: Sequence[int | None]) -> None:
    """Release a queue once what it was given is done, and the events that there are."""
    with suppress(OpenCLError):
        call("clFinish", queue)
        for event in filter(None, events):
            call("clReleaseEvent", event)
    with suppress(OpenCLError):
        call("clReleaseCommandQueue", queue)


def _release(queue: int, owned: OwnedHandles, memory: OpenCLMemory) -> None:
    if DRIVER_PROCESS.lost:
        return
    # Errors have been reported before. Release whatever can be, sub-buffers before their buffers.
    with suppress(OpenCLError):
        call("clFinish", queue)
    owned.release()
    memory.release()
