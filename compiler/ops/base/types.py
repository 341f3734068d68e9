"""Groups of element types that operators accept."""

from __future__ import annotations

FLOATS = ("float32", "float16")
"""Types held as float32 on the device."""
INTEGERS = ("int32", "int64")
"""Types held as int32 on the device, with 32-bit arithmetic."""
SMALL_INTEGERS = ("int16", "int8", "uint8", "uint16", "uint32")
"""Types held as int32 on the device, which kernels move, compare and convert but do not compute."""
ANY = (*FLOATS, *INTEGERS, *SMALL_INTEGERS, "bool")
"""Every element type a tensor on the device may have."""
