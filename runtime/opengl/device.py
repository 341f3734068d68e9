"""Running kernels on an OpenGL device, through moderngl."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from time import perf_counter
from typing import Any

from ..cache.binaries import join_programs, split_programs
from ..errors import BuildError, DeviceError
from ..launch.callers_memory import CallersMemory
from ..launch.device import Device, LaunchGrid, Range, Sources
from ..launch.owned import Owned
from ..plan.kernels import Kernel
from ..plan.storage import WORD
from ..startup import DRIVER_PROCESS
from . import egl
from .binaries import ProgramBinaries, RestoredShader
from .callers_memory import ModernglContext, check_memory, texture_copy
from .egl import Context
from .fence import Fence, Fences
from .info import describe

try:
    import moderngl
except ImportError as error:
    raise DeviceError(
        "OpenGL needs moderngl, which is not installed; install it with: pip install 'tflgpu[gl]'"
    ) from error

Shader = moderngl.ComputeShader | RestoredShader  # A program in the driver, compiled or restored.
_SMALLEST = 256  # Bytes to allocate at least, as OpenGL has no empty buffers.


@dataclass(frozen=True)
class Command:
    """A launch of a kernel on ranges of buffers, or a copy of a texture."""

    run: Callable[[int, int, int], object]
    arguments: tuple[Range, ...]
    groups: tuple[int, int, int]  # Work-groups along each axis.
    barrier: bool  # Whether a memory barrier must precede it.


class OpenGLDevice(Device):
    """An OpenGL device with a context, which is current only during calls."""

    downloads_wait = True

    def __init__(self, context: egl.Context) -> None:
        """Takes ownership of the context, unless it is the caller's (DeviceError)."""
        self._current = context
        self.calls: AbstractContextManager[Any] = context
        self._owned = Owned[Any](partial(_free, context))
        try:
            with context:
                self.info = describe(context)
                self._binaries = ProgramBinaries(context)
                self._fences = Fences(context)
                self.has_binaries = self._binaries.supported
                self._gl = context.owner if isinstance(context, ModernglContext) else _interface()
                self._gl.clear_errors()
        except moderngl.Error as error:
            context.release()
            raise DeviceError(f"moderngl cannot use the OpenGL context: {error}") from error
        except BaseException:
            context.release()
            raise
        self._name = str(self.info)
        # Frees everything even if the device is dropped without being released.
        self._finalizer = weakref.finalize(self, _release, context, self._owned)
        self._finalizer.atexit = False

    @contextmanager
    def _doing(self, what: str) -> Iterator[None]:
        """A block with the context; DeviceError that says what was being done if a call fails."""
        with self._current:
            try:
                yield
            except moderngl.Error as error:
                self._gl.clear_errors()
                raise DeviceError(f"{self._name}: {error} while {what}") from error
            status = self._gl.error
            if status != "GL_NO_ERROR":
                raise DeviceError(f"{self._name}: {status} while {what}")

    def build(self, kernels: Sequence[Kernel], options: str, sources: Sources) -> list[Shader]:
        """OpenGL's compilers take no options."""
        shaders: dict[str, Shader] = {}
        programs: list[Shader] = []
        for kernel in kernels:
            source = sources[kernel.file]
            if source not in shaders:
                shaders[source] = self._compile(kernel, source)
            programs.append(shaders[source])
        return programs

    def _compile(self, kernel: Kernel, source: str) -> moderngl.ComputeShader:
        with self._doing(f"compiling {kernel.file}"):
            try:
                shader = self._gl.compute_shader(source)
            except moderngl.Error as error:
                raise BuildError(kernel.file, _log(error), source) from error
            self._owned.keep(shader)
        return shader

    def binary(self, programs: Sequence[Shader]) -> bytes | None:
        order = list(dict.fromkeys(program.glo for program in programs))
        with self._current:
            contents = [self._binaries.read(shader) for shader in order]
        returned = [content for content in contents if content is not None]
        if len(returned) < len(contents):
            return None
        return join_programs(returned, [order.index(program.glo) for program in programs])

    def restore(
        self, kernels: Sequence[Kernel], options: str, binary: bytes
    ) -> list[Shader] | None:
        joined = split_programs(binary)
        if joined is None or not self.has_binaries:
            return None
        contents, places = joined
        if len(places) != len(kernels):
            return None
        restored = []
        with self._current:
            for content in contents:
                shader = self._binaries.restore(content)
                if shader is None:
                    return None
                self._owned.keep(shader)
                restored.append(shader)
        return [restored[place] for place in places]

    def allocate(self, size: int) -> Range:
        with self._doing(f"allocating {size} bytes"):
            buffer = self._gl.buffer(reserve=max(size, _SMALLEST))
            self._owned.keep(buffer)
        return Range(buffer, 0, max(size, _SMALLEST))

    def constant(self, data: memoryview) -> Range:
        whole = self.allocate(data.nbytes)
        if data.nbytes:
            self.upload(whole, data)
        return whole

    def adopt(
        self, memory: CallersMemory, size: int, writes: bool
    ) -> tuple[Range, Sequence[Command]]:
        check_memory(memory, self._gl)
        if not memory.texture:
            return Range(memory.owner, 0, max(size, WORD)), ()
        whole = self.allocate(size)
        copy = texture_copy(memory.owner, whole.buffer, writes)
        return whole, [Command(copy, (), (1, 1, 1), False)]

    def scope(self) -> AbstractContextManager[Callable[[], None]]:
        return self._owned.scope()

    def sub_buffer(self, buffer: Range, offset: int, size: int) -> Range:
        return Range(buffer.buffer, buffer.offset + offset, size)

    def bind(self, program: Shader, arguments: Sequence[Range], grid: LaunchGrid) -> Command:
        return Command(program.run, tuple(arguments), grid.groups, grid.barrier)

    def upload(self, buffer: Range, array: Any, offset: int = 0) -> None:
        if array.nbytes:
            with self._doing("copying an input"):
                buffer.buffer.write(array, buffer.offset + offset)

    def fill(self, buffer: Range, size: int, byte: int) -> None:
        if size:
            with self._doing(f"filling {size} bytes"):
                buffer.buffer.write(bytes([byte]) * size, buffer.offset)

    def enqueue(self, commands: Sequence[Command]) -> None:
        with self._doing("launching the kernels"):
            # These must see what was written before, such as inputs.
            self._gl.memory_barrier(moderngl.ALL_BARRIER_BITS)
            try:
                for command in commands:
                    self._run(command)
            except AttributeError as error:
                # This is all that moderngl says of an object that the caller has released.
                raise DeviceError(
                    "a buffer or texture of moderngl was released while it was bound; bind another"
                ) from error

    def _run(self, command: Command) -> None:
        if command.barrier:
            self._gl.memory_barrier(moderngl.SHADER_STORAGE_BARRIER_BIT)
        for binding, (buffer, offset, size) in enumerate(command.arguments):
            buffer.bind_to_storage_buffer(binding, offset, size)
        command.run(*command.groups)

    def download(self, buffer: Range, array: Any, offset: int = 0) -> None:
        if array.nbytes:
            with self._doing("copying an output"):
                self._gl.memory_barrier(moderngl.BUFFER_UPDATE_BARRIER_BIT)
                buffer.buffer.read_into(array, array.nbytes, buffer.offset + offset)

    def wait_for(self, events: Sequence[Any]) -> None:
        with self._doing("waiting for fences"):
            self._fences.wait_for(events)

    def mark(self) -> Fence:
        with self._doing("marking the end of a run"):
            fence = self._fences.make()
        return fence

    def finish(self) -> None:
        with self._doing("running the kernels"):
            self._gl.finish()

    def profile(self, commands: Sequence[Command]) -> list[float]:
        """Wall-clock time from launch to completion: OpenGL ES 3.1 has no timer queries."""
        times = []
        with self._doing("timing the kernels"):
            self._gl.memory_barrier(moderngl.ALL_BARRIER_BITS)
            self._gl.finish()
            for command in commands:
                start = perf_counter()
                self._run(command)
                self._gl.finish()
                times.append(perf_counter() - start)
        return times

    def release(self) -> None:
        self._finalizer()


@cache
def _interface() -> moderngl.Context:
    """The driver's functions in moderngl; a context must be current (moderngl.Error).

    One object serves all contexts, as EGL's functions do; moderngl leaks 34 KB for each.
    """
    # moderngl only calls the class's method that returns the addresses of functions.
    settings: dict[str, Any] = {"context": egl.Context, "require": 310}
    return moderngl.create_context(standalone=True, **settings)


def _free(context: Context, items: Sequence[Any]) -> None:
    with suppress(DeviceError), context:
        for item in items:
            item.release()


def _release(context: egl.Context, owned: Owned[Any]) -> None:
    if not DRIVER_PROCESS.lost:
        owned.release()
        context.release()


def _log(error: Exception) -> str:
    """The compiler's messages, without moderngl's heading."""
    text = str(error)
    return text.rpartition("====\n")[2].strip() or text
