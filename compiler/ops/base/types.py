"""Element types, as operators and kernels group them."""

from __future__ import annotations

FLOATS = ("float32", "float16")
"""Types that are float32 on the device."""
INTEGERS = ("int32", "int64")
"""Types whose arithmetic is that of the device's 32-bit integers."""
SMALL_INTEGERS = ("int16", "int8", "uint8", "uint16", "uint32")
"""Types that are 32-bit integers on the device, too, and that kernels move, compare and convert."""
ANY = (*FLOATS, *INTEGERS, *SMALL_INTEGERS, "bool")
"""Every type a tensor on the device may have."""
