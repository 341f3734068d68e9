"""Contexts and memory of the caller, made with moderngl, and copies of textures."""

from collections.abc import Callable
from typing import Any

from ..errors import DeviceError, InputError
from ..launch.callers_memory import CallersMemory, is_released
from .egl import Context, current, make_current, restore, window_context

_LEAST = {True: 310, False: 430}  # The versions of OpenGL ES and OpenGL that have compute shaders.


class ModernglContext(Context):
    """A moderngl.Context, which is current inside a `with` block, and afterwards if it was before.

    One that was not made through EGL, such as a window's on X11, must be current on the calling
    thread by itself, as X11 ends programs that take a context from another thread.
    """

    def __init__(self, owner: Any) -> None:
        """DeviceError if it has no compute shaders, or cannot be made current."""
        before = current()
        # Not in a `with` block: leaving one would leave no context current.
        owner.__enter__()
        self._mine = current()
        self._window = 0 if self._mine.context else window_context()
        super().__init__(self._mine.display or 0, self._mine.api, self._mine.context or 0)
        self.owner = owner
        embedded = _is_embedded(owner)
        if before != self._mine:
            restore(before)
        if owner.version_code < _LEAST[embedded]:
            raise DeviceError(
                f"the context is of {owner.info['GL_VERSION']}, but OpenGL ES 3.1 or OpenGL 4.3 is "
                "needed; create it with require=430"
            )

    def _make_current(self) -> None:
        self._before = current()
        if is_released(self.owner):
            raise DeviceError("the moderngl.Context in which the model was loaded was released")
        if self._window and self._window != window_context():
            raise DeviceError(
                "the moderngl.Context is not current on this thread, and only those made through "
                "EGL are made current by a run; call the session in a `with` block of the context"
            )
        if self._before.context != self._mine.context:
            make_current(self._mine)

    def _restore(self) -> None:
        if self._before is not None and self._before.context != self._mine.context:
            super()._restore()

    def release(self) -> None:
        """Nothing, as the caller owns it."""


def _is_embedded(context: Any) -> bool:
    return " ES " in context.info["GL_VERSION"]


def check_memory(memory: CallersMemory, context: Any) -> None:
    """Raise an InputError unless kernels in a moderngl context can use the memory."""
    if memory.library != "moderngl":
        raise InputError(
            f"a {memory.kind} cannot be bound to a model on OpenGL; bind a moderngl.Buffer or "
            "Texture, or compile the model with target opencl"
        )
    if memory.texture and _is_embedded(context):
        raise InputError("OpenGL ES does not copy textures to buffers; bind a moderngl.Buffer")
    if memory.owner.ctx is not context:
        raise InputError(
            f"the {memory.kind} belongs to another OpenGL context; load the model with context= "
            "the moderngl.Context of the buffer"
        )


_PIXEL_BUFFER_BARRIER = 0x80  # GL_PIXEL_BUFFER_BARRIER_BIT.


def texture_copy(texture: Any, buffer: Any, writes: bool) -> Callable[[int, int, int], None]:
    """What copies all texels, row by row, to a buffer; with `writes`, what kernels have written."""

    def copy(*_: int) -> None:
        if writes:
            texture.ctx.memory_barrier(_PIXEL_BUFFER_BARRIER)
            texture.write(buffer)
        else:
            texture.read_into(buffer)

    return copy
