"""Running kernels on a WebGPU device, through PyPI's wgpu."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import BuildError, InputError
from ..launch.callers_memory import CallersMemory
from ..launch.device import Device, DeviceInfo, LaunchGrid, Range, Sources
from ..launch.owned import Owned
from ..plan.kernels import Kernel
from ..plan.storage import WORD, whole_words
from ..startup import DRIVER_PROCESS
from .commands import Dispatch, TextureCopy, encode
from .downloads import Copy, Download, Downloads
from .info import limits_of
from .library import driver_call, wgpu
from .timing import seconds_of

_SMALLEST = 256  # Bytes to allocate at least, as bindings cannot be empty.

Command = Dispatch | TextureCopy


class Program(NamedTuple):
    pipeline: Any
    layout: Any  # Of its bindings.


class WebGPUDevice(Device):
    """A device of wgpu, for any thread. Drivers keep compiled kernels: there are no binaries."""

    def __init__(self, info: DeviceInfo, device: Any) -> None:
        self.info = replace(info, limits=limits_of(device, info.name))
        self.calls: AbstractContextManager[Any] = nullcontext()
        self._device, self._queue = device, device.queue
        self._name = str(info)
        self._buffers = Owned[Any](_destroy)
        # Command buffers that are to be submitted, together with the copies after them.
        self._recorded: list[Any] = []
        self._copies: list[Copy] = []
        self._downloads: list[Download] = []  # Those that nobody waits for yet.
        self._idle = False  # Whether wgpu was asked for nothing since everything was waited for.
        self._fence = self._allocate(WORD)  # A word to copy where nothing else is copied.

    def _doing(self, what: str) -> AbstractContextManager[None]:
        self._idle = False
        return driver_call(self._name, what)

    def build(self, kernels: Sequence[Kernel], options: str, sources: Sources) -> list[Program]:
        """WebGPU's compilers take no options. Each source is compiled once, several at a time."""
        first = {sources[kernel.file]: kernel for kernel in reversed(kernels)}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            made = pool.map(self._compile, first.values(), first)
            programs = dict(zip(first, made, strict=True))
        return [programs[sources[kernel.file]] for kernel in kernels]

    def _compile(self, kernel: Kernel, source: str) -> Program:
        with self._doing(f"compiling {kernel.file}"):
            try:
                module = self._device.create_shader_module(label=kernel.name, code=source)
                pipeline = self._device.create_compute_pipeline(
                    layout="auto", compute={"module": module}
                )
            except wgpu.GPUValidationError as error:
                raise BuildError(kernel.file, _log(error), source) from error
            return Program(pipeline, pipeline.get_bind_group_layout(0))

    def allocate(self, size: int) -> Range:
        return self._allocate(size)

    def _allocate(self, size: int, mapped: bool = False) -> Range:
        size = max(whole_words(size), _SMALLEST)
        with self._doing(f"allocating {size} bytes"):
            buffer = self._device.create_buffer(
                size=size, usage="STORAGE | COPY_SRC | COPY_DST", mapped_at_creation=mapped
            )
        self._buffers.keep(buffer)
        return Range(buffer, 0, size)

    def constant(self, data: memoryview) -> Range:
        whole = self._allocate(data.nbytes, mapped=True)
        with self._doing("copying the weights"):
            if data.nbytes:
                whole.buffer.write_mapped(data)
            whole.buffer.unmap()
        return whole

    def adopt(
        self, memory: CallersMemory, size: int, writes: bool
    ) -> tuple[Range, Sequence[Command]]:
        _check_memory(memory, self._device, writes)
        if not memory.texture:
            return Range(memory.owner, 0, max(whole_words(size), WORD)), ()
        height, width, channels = memory.shape
        row = width * channels * np.dtype(memory.dtype).itemsize
        whole = self.allocate(max(size, row * height))
        return whole, [TextureCopy(memory.owner, whole.buffer, row, writes)]

    def scope(self) -> AbstractContextManager[Callable[[], None]]:
        return self._buffers.scope()

    def sub_buffer(self, buffer: Range, offset: int, size: int) -> Range:
        return Range(buffer.buffer, buffer.offset + offset, whole_words(size))

    def bind(self, program: Program, arguments: Sequence[Range], grid: LaunchGrid) -> Dispatch:
        """WebGPU finds out by itself where barriers are needed."""
        entries = [
            {"binding": number, "resource": argument._asdict()}
            for number, argument in enumerate(arguments)
        ]
        with self._doing("binding the kernels"):
            bindings = self._device.create_bind_group(layout=program.layout, entries=entries)
        return Dispatch(program.pipeline, bindings, grid.groups)

    def upload(self, buffer: Range, array: Any, offset: int = 0) -> None:
        """WebGPU copies whole words, which is what tensors take."""
        if array.nbytes:
            self._start()
            content: Any = memoryview(array).cast("B")
            if array.nbytes % WORD:
                content = bytes(content).ljust(whole_words(array.nbytes), b"\0")
            with self._doing("copying an input"):
                self._queue.write_buffer(buffer.buffer, buffer.offset + offset, content)

    def fill(self, buffer: Range, size: int, byte: int) -> None:
        self.upload(buffer, memoryview(bytes([byte]) * whole_words(size)))

    def enqueue(self, commands: Sequence[Command]) -> None:
        if self._copies:
            self._start()
        with self._doing("launching the kernels"):
            encoder = self._device.create_command_encoder()
            encode(commands, encoder)
            self._recorded.append(encoder.finish())

    def download(self, buffer: Range, array: Any, offset: int = 0) -> None:
        if array.nbytes:
            self._copies.append(Copy(buffer.buffer, buffer.offset + offset, array))

    def _start(self) -> None:
        """Submit what has been recorded."""
        recorded, self._recorded = self._recorded, []
        copies, self._copies = self._copies, []
        with self._doing("launching the kernels"):
            if copies:
                self._downloads.append(Download(self._device, copies, recorded))
            elif recorded:
                self._queue.submit(recorded)

    def wait_for(self, events: Sequence[Any]) -> None:
        """Waits at once, as the queue cannot."""
        for event in events:
            if not isinstance(event, wgpu.GPUPromise):
                raise InputError(
                    f"wait_for has {event!r}; on WebGPU, give promises of wgpu. Work that was "
                    "submitted to the device's queue before is done before by itself"
                )
        with self._doing("waiting for promises"):
            for event in events:
                event.sync_wait()

    def mark(self) -> Downloads:
        if not self._copies:
            self.download(self._fence, np.empty(1, np.uint32))
        self._start()
        downloads, self._downloads = self._downloads, []
        return Downloads(self._name, downloads)

    def finish(self) -> None:
        if not self._idle or self._copies:
            self.mark().wait()
            self._idle = True

    def profile(self, commands: Sequence[Command]) -> list[float]:
        """Timestamps of the device; wall-clock time from launch to completion if it has none."""
        self.finish()
        with self._doing("timing the kernels"):
            return seconds_of(self._device, commands)

    def release(self) -> None:
        self._buffers.release()


def _check_memory(memory: CallersMemory, device: Any, writes: bool) -> None:
    """Raise an InputError unless kernels of a device can use the memory."""
    if memory.library != "wgpu":
        raise InputError(
            f"a {memory.kind} cannot be bound to a model on WebGPU; bind a wgpu.GPUBuffer or "
            "GPUTexture, or compile the model with another target"
        )
    if memory.owner._device is not device:
        raise InputError(
            f"the {memory.kind} belongs to another device; load the model with context= the "
            "wgpu.GPUDevice of the buffer"
        )
    kinds = wgpu.TextureUsage if memory.texture else wgpu.BufferUsage
    name = ("COPY_DST" if writes else "COPY_SRC") if memory.texture else "STORAGE"
    if not memory.owner.usage & getattr(kinds, name):
        raise InputError(f"the {memory.kind} was made without the usage {name}, which is needed")
    if not memory.texture and memory.owner.map_state != "unmapped":
        raise InputError(f"the {memory.kind} is mapped for the host; unmap it before")


def _destroy(buffers: Sequence[Any]) -> None:
    """Give the memory of buffers back at once."""
    if not DRIVER_PROCESS.lost:
        for buffer in buffers:
            with suppress(wgpu.GPUError):
                buffer.destroy()


def _log(error: Exception) -> str:
    """The compiler's messages, without wgpu's heading."""
    _, _, text = str(error).partition("parsing error: ")
    return text.strip() or str(error)
