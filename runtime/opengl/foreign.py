"""Whether an OpenGL device can use memory of the caller."""

from __future__ import annotations

from typing import Any

from ..errors import InputError
from ..launch.foreign import ForeignMemory


def check_memory(memory: ForeignMemory, context: Any) -> None:
    """Raise an InputError unless kernels in a moderngl context can use the memory."""
    if memory.library != "moderngl":
        raise InputError(
            f"a {memory.kind} cannot be bound to a model on OpenGL; bind a moderngl.Buffer, or "
            "compile the model with target opencl"
        )
    if memory.owner.ctx is not context:
        raise InputError(
            f"the {memory.kind} belongs to another OpenGL context; load the model with context= "
            "the moderngl.Context of the buffer"
        )
