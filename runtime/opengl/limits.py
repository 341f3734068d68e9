"""The limits of an OpenGL device."""

from __future__ import annotations

import ctypes

from ..plan.limits import LARGEST_SIZE
from ..plan.running import Limits
from .egl import Context

# GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT and GL_MAX_SHADER_STORAGE_BLOCK_SIZE
_OFFSET_ALIGNMENT, _MAX_BLOCK_SIZE = 0x90DF, 0x90DE
# As in OpenGL's headers, but for GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS and so on.
_MAX_STORAGE_BLOCKS = 0x90DB
_MAX_SHARED_MEMORY_SIZE = 0x8262
_MAX_WORK_GROUP_INVOCATIONS = 0x90EB
_MAX_WORK_GROUP_COUNT, _MAX_WORK_GROUP_SIZE = 0x91BE, 0x91BF


def read_limits(context: Context) -> Limits:
    """The limits of the device of a context, which must be current."""
    kinds = (ctypes.c_uint, ctypes.POINTER(ctypes.c_int64))
    single = ctypes.CFUNCTYPE(None, *kinds)(context.load("glGetInteger64v"))
    indexed = ctypes.CFUNCTYPE(None, ctypes.c_uint, *kinds)(context.load("glGetInteger64i_v"))

    def integer(name: int) -> int:
        value = ctypes.c_int64()
        single(name, value)
        return value.value

    def integers(name: int) -> tuple[int, int, int]:
        values = (ctypes.c_int64 * 3)()
        for axis in range(3):
            indexed(name, axis, ctypes.cast(ctypes.byref(values, 8 * axis), kinds[1]))
        return values[0], values[1], values[2]

    return Limits(
        max(1, integer(_OFFSET_ALIGNMENT)),
        integer(_MAX_WORK_GROUP_INVOCATIONS),
        integers(_MAX_WORK_GROUP_SIZE),
        integers(_MAX_WORK_GROUP_COUNT),
        integer(_MAX_SHARED_MEMORY_SIZE),
        integer(_MAX_STORAGE_BLOCKS),
        integer(_MAX_BLOCK_SIZE),
        LARGEST_SIZE,
    )
