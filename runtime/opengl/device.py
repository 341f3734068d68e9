"""OpenGL devices through moderngl: finding them, and running kernels on one of them."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

from ..errors import BuildError, DeviceError
from ..launch.device import DeviceInfo, misaligned
from ..opencl.sources import numbered
from ..plan.records import Kernel, Plan
from ..store.joined_binaries import join_binaries, split_binaries
from . import egl
from .binaries import ProgramBinaries, RestoredShader
from .info import describe
from .limits import bindings, excess, excess_of_launches, read_limits

try:
    import moderngl
except ImportError as error:
    raise DeviceError(
        "moderngl is not installed, through which kernels run on OpenGL; it comes with: "
        "pip install 'tflgpu[gl]'"
    ) from error

Shader = moderngl.ComputeShader | RestoredShader
"""A kernel as the driver has it, compiled here or before."""
_SMALLEST = 256
"""Bytes of the smallest buffer made; none can be empty."""


# -- finding ----------------------------------------------------------------------------------


def devices() -> list[DeviceInfo]:
    """Every OpenGL device present that can compute, the one "auto" takes first (DeviceError)."""
    opened = _open_all()
    for device in opened:
        device.release()
    return [device.info for device in opened]


def select_device(name: str = "auto") -> DeviceInfo:
    """The best device, of those with `name` in their text (any case) unless it is "auto".

    DeviceError that lists what is there if nothing matches.
    """
    device = open_device(name)
    device.release()
    return device.info


def open_device(name: str = "auto") -> OpenGLDevice:
    """The device `select_device` gives, ready to work (DeviceError)."""
    opened = _open_all()
    chosen = None
    for device in opened:
        if chosen is None and (name == "auto" or name.lower() in str(device.info).lower()):
            chosen = device
        else:
            device.release()
    if chosen is not None:
        return chosen
    if not opened:
        raise DeviceError(
            "there is no device with OpenGL ES 3.1 or OpenGL 4.3; one that runs on the processor "
            "comes on Debian and Ubuntu with: apt install libegl1 libgl1-mesa-dri"
        )
    listing = "".join(f"\n  {device.info}" for device in opened)
    raise DeviceError(f"no OpenGL device has {name!r} in its name; there are:{listing}")


def _open_all() -> list[OpenGLDevice]:
    """Every device, GPUs before software."""
    opened = []
    for context in egl.contexts():
        # A device whose driver moderngl cannot use is as good as absent.
        with suppress(DeviceError):
            opened.append(OpenGLDevice(context))
    return sorted(opened, key=lambda device: device.info.type != "gpu")


# -- running ----------------------------------------------------------------------------------


class Range(NamedTuple):
    """Bytes of a buffer, as kernels are given them."""

    buffer: moderngl.Buffer
    offset: int
    size: int


class Program(NamedTuple):
    """A compiled kernel and how many buffers it takes."""

    shader: Shader
    name: str
    buffers: int


@dataclass(frozen=True)
class Launch:
    """A kernel, the ranges it works on, and how many work-groups there are."""

    shader: Shader
    arguments: tuple[Range, ...]
    groups: tuple[int, int, int]
    barrier: bool
    """Whether writes before it must be waited for."""


class OpenGLDevice:
    """One OpenGL device with a context of its own. See `device.Device`.

    The context is current only during calls, on the thread that calls.
    """

    build_options = ""
    resident_groups = 0

    def __init__(self, context: egl.Context) -> None:
        """Owns the context from here on."""
        self._current = context
        self._objects: list[Any] = []
        try:
            with context:
                self._limits = read_limits(context)
                self.info = describe(context, self._limits)
                self._binaries = ProgramBinaries(context)
                self.has_binaries = self._binaries.supported
                self._gl = _interface()
                self._gl.clear_errors()
        except moderngl.Error as error:
            context.release()
            raise DeviceError(f"moderngl cannot use an OpenGL context: {error}") from error
        except BaseException:
            context.release()
            raise
        self._name = str(self.info)
        # A device that is dropped without being released gives its memory back all the same.
        self._finalizer = weakref.finalize(self, _release, context, self._objects)
        self._finalizer.atexit = False

    def _check(self, doing: str) -> None:
        """DeviceError with the driver's status by name if a call failed since the last check."""
        status = self._gl.error
        if status != "GL_NO_ERROR":
            raise DeviceError(f"{self._name}: {status} while {doing}")

    def objection(self, plan: Plan) -> str | None:
        if plan.target != "glsl":
            return f"it was compiled for {plan.target}, this device runs glsl"
        return misaligned(plan, self.info.alignment)

    def build(
        self, plan: Plan, kernels: Sequence[Kernel], sources: Mapping[str, str]
    ) -> list[Program]:
        """DeviceError, too, if the plan is more than the device can take."""
        problem = excess(plan, sources, self._limits)
        if problem is not None:
            raise DeviceError(
                f"{self._name}: {problem}; compile the model for a smaller device profile: "
                f"tflgpu-compile --target glsl --device gles31"
            )
        shaders: dict[str, moderngl.ComputeShader] = {}
        programs = []
        with self._current:
            for kernel in kernels:
                source = sources[kernel.file]
                if source not in shaders:
                    shaders[source] = self._compile(kernel, source)
                programs.append(Program(shaders[source], kernel.name, bindings(source)))
        return programs

    def _compile(self, kernel: Kernel, source: str) -> moderngl.ComputeShader:
        try:
            shader = self._gl.compute_shader(source)
        except moderngl.Error as error:
            raise BuildError(kernel.file, _log(error), numbered(source)) from error
        self._objects.append(shader)
        self._check(f"compiling {kernel.file}")
        return shader

    def binary(self, programs: Sequence[Program]) -> bytes | None:
        shaders = {program.shader.glo: program.buffers for program in programs}
        with self._current:
            contents = [self._binaries.read(shader, count) for shader, count in shaders.items()]
        told = [content for content in contents if content is not None]
        if len(told) < len(contents):
            return None
        order = list(shaders)
        return join_binaries(told, [order.index(program.shader.glo) for program in programs])

    def restore(self, plan: Plan, kernels: Sequence[Kernel], binary: bytes) -> list[Program] | None:
        parts = split_binaries(binary)
        if parts is None or not self.has_binaries:
            return None
        contents, places = parts
        if len(places) != len(kernels) or excess_of_launches(plan, self._limits):
            return None
        restored = []
        with self._current:
            for content in contents:
                shader = self._binaries.restore(content)
                if shader is None:
                    return None
                self._objects.append(shader[0])
                restored.append(shader)
        return [
            Program(restored[place][0], kernel.name, restored[place][1])
            for place, kernel in zip(places, kernels, strict=True)
        ]

    def allocate(self, size: int) -> Range:
        with self._current:
            buffer = self._gl.buffer(reserve=max(size, _SMALLEST))
            self._objects.append(buffer)
            self._check(f"allocating {size} bytes")
        return Range(buffer, 0, max(size, _SMALLEST))

    def constant(self, data: memoryview) -> Range:
        whole = self.allocate(data.nbytes)
        if data.nbytes:
            self.upload(whole, data)
        return whole

    def part(self, buffer: Range, offset: int, size: int) -> Range:
        return Range(buffer.buffer, buffer.offset + offset, size)

    def image(self, buffer: Range, offset: int, size: int, texel: int) -> Range:
        raise DeviceError("kernels in GLSL ES 3.1 read no images of buffers")

    def prepare(
        self,
        program: Program,
        arguments: Sequence[Range],
        grid: tuple[int, int, int],
        group: tuple[int, int, int],
        barrier: bool,
    ) -> Launch:
        if program.buffers != len(arguments):
            raise DeviceError(
                f"kernel {program.name} takes {program.buffers} arguments, the plan gives it "
                f"{len(arguments)}; compile the model again"
            )
        groups = (grid[0] // group[0], grid[1] // group[1], grid[2] // group[2])
        return Launch(program.shader, tuple(arguments), groups, barrier)

    def record(self, launches: Sequence[Launch]) -> Sequence[Launch]:
        return launches

    def upload(self, buffer: Range, array: Any, offset: int = 0) -> None:
        if array.nbytes:
            with self._current:
                buffer.buffer.write(array, buffer.offset + offset)
                self._check("copying an input")

    def fill(self, buffer: Range, size: int, byte: int) -> None:
        if size:
            with self._current:
                buffer.buffer.write(bytes([byte]) * size, buffer.offset)
                self._check(f"filling {size} bytes")

    def dispatch(self, launches: Sequence[Launch]) -> None:
        with self._current:
            # Nothing of this run may overtake what is left of the last one.
            self._gl.memory_barrier(moderngl.ALL_BARRIER_BITS)
            for launch in launches:
                self._run(launch)
            self._check("launching the kernels")

    def _run(self, launch: Launch) -> None:
        if launch.barrier:
            self._gl.memory_barrier(moderngl.SHADER_STORAGE_BARRIER_BIT)
        for binding, (buffer, offset, size) in enumerate(launch.arguments):
            buffer.bind_to_storage_buffer(binding, offset, size)
        launch.shader.run(*launch.groups)

    def download(self, buffer: Range, array: Any, offset: int = 0) -> None:
        if array.nbytes:
            with self._current:
                self._gl.memory_barrier(moderngl.BUFFER_UPDATE_BARRIER_BIT)
                buffer.buffer.read_into(array, array.nbytes, buffer.offset + offset)
                self._check("copying an output")

    def finish(self) -> None:
        with self._current:
            self._gl.finish()
            self._check("running the kernels")

    def profile(self, launches: Sequence[Launch]) -> list[float]:
        """The time from launch to completion, by the clock: ES has no timer queries."""
        times = []
        with self._current:
            self._gl.memory_barrier(moderngl.ALL_BARRIER_BITS)
            self._gl.finish()
            for launch in launches:
                start = perf_counter()
                self._run(launch)
                self._gl.finish()
                times.append(perf_counter() - start)
            self._check("timing the kernels")
        return times

    def release(self) -> None:
        self._finalizer()


@cache
def _interface() -> moderngl.Context:
    """What moderngl calls the driver with; some context must be current (moderngl.Error).

    One serves all contexts, as EGL's functions do. moderngl would lose 34 KB for each.
    """
    # It asks the class for nothing but the addresses of functions.
    settings: dict[str, Any] = {"context": egl.Context, "require": 310}
    return moderngl.create_context(standalone=True, **settings)


def _release(context: egl.Context, objects: list[Any]) -> None:
    # Whatever failed before has been reported; here everything goes that still can.
    with suppress(DeviceError), context:
        for item in objects:
            item.release()
    objects.clear()
    context.release()


def _log(error: Exception) -> str:
    """What the driver's compiler said, without moderngl's heading above it."""
    text = str(error)
    return text.rpartition("====\n")[2].strip() or text
