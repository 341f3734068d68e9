"""What an OpenGL device reports about itself."""

import ctypes
import re
from dataclasses import replace

from ..launch.device import DeviceInfo, loop_limit
from ..plan.limits import LARGEST_SIZE
from ..plan.running import Limits
from .egl import Context

# Words in the names of renderers that run on the CPU.
_SOFTWARE = ("llvmpipe", "softpipe", "swrast", "swiftshader")
_VENDOR, _RENDERER, _VERSION = 0x1F00, 0x1F01, 0x1F02


def describe(context: Context) -> DeviceInfo:
    """The device of a context, which must be current (DeviceError)."""
    vendor, renderer, version = _texts(context)
    software = any(word in renderer.lower() for word in _SOFTWARE)
    return DeviceInfo(
        name=renderer,
        platform=vendor,
        version=version if version.startswith("OpenGL") else f"OpenGL {version}",
        driver=_driver(version),
        type="cpu" if software else "gpu",
        vendor=vendor,
        vector_width=4,
        limits=replace(read_limits(context), iterations=loop_limit(renderer)),
        compute_units=0,
        unified=software,
        target="glsl",
    )


def _driver(version: str) -> str:
    """The driver's part of a version text, which follows the version of OpenGL.

    >>> _driver("OpenGL ES 3.2 Mesa 22.3.6"), _driver("4.5 (Core Profile) Mesa 22.3.6")
    ('Mesa 22.3.6', 'Mesa 22.3.6')
    """
    rest = re.sub(r"^\D*[\d.]+\s*(\(Core Profile\))?\s*", "", version)
    return rest or version


def _texts(context: Context) -> tuple[str, str, str]:
    """Vendor, renderer and version."""
    read = context.function("glGetString", ctypes.c_char_p, ctypes.c_uint)
    texts = [
        (read(name) or b"").decode(errors="replace") for name in (_VENDOR, _RENDERER, _VERSION)
    ]
    vendor, renderer, version = (" ".join(text.split()) for text in texts)
    return vendor, renderer, version


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
    single = context.function("glGetInteger64v", None, *kinds)
    indexed = context.function("glGetInteger64i_v", None, ctypes.c_uint, *kinds)

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
