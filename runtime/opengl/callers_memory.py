"""Contexts and memory of the caller, made with moderngl, and copies of textures."""

from typing import Any

from ..errors import DeviceError, InputError
from ..launch.callers_memory import CallersMemory
from .egl import Context, current, make_current

_LEAST = {True: 310, False: 430}
"""The versions of OpenGL ES and OpenGL that have compute shaders."""


class ModernglContext(Context):
    """A moderngl.Context, which is current inside a `with` block, and afterwards if it was before.

    A context that was not made through EGL must be current on the calling thread by itself.
    """

    def __init__(self, owner: Any) -> None:
        """DeviceError if it has no compute shaders."""
        before = current()
        # Not in a `with` block: leaving one would leave no context current.
        owner.__enter__()
        self._mine = current()
        super().__init__(self._mine.display or 0, self._mine.api, self._mine.context or 0)
        self.owner = owner
        embedded = _is_embedded(owner)
        if before.context and before != self._mine:
            make_current(before)
        if owner.version_code < _LEAST[embedded]:
            raise DeviceError(
                f"the context is of {owner.info['GL_VERSION']}, but OpenGL ES 3.1 or OpenGL 4.3 is "
                "needed; create it with require=430"
            )

    def _make_current(self) -> None:
        self._before = current()
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


_PIXEL_BUFFER_BARRIER = 0x80
"""GL_PIXEL_BUFFER_BARRIER_BIT."""


class TextureRead:
    """Copies all texels to a buffer, row by row."""

    def __init__(self, texture: Any, buffer: Any) -> None:
        self._texture, self._buffer = texture, buffer

    def run(self, *_: int) -> None:
        self._texture.read_into(self._buffer)


class TextureWrite:
    """Copies a buffer that kernels have written to the texels."""

    def __init__(self, texture: Any, buffer: Any) -> None:
        self._texture, self._buffer = texture, buffer

    def run(self, *_: int) -> None:
        self._texture.ctx.memory_barrier(_PIXEL_BUFFER_BARRIER)
        self._texture.write(self._buffer)
