"""Groups of element types that operators accept."""

from ....runtime.plan.storage import device_dtype

FLOATS = ("float32", "float16")
"""Types that are float32 on the device."""
INTEGERS = ("int32", "int64")
"""Types that are int32 on the device, with 32-bit arithmetic."""
SMALL_INTEGERS = ("int16", "int8", "uint8", "uint16", "uint32")
"""Types that kernels hold as int32, and move, compare and convert but do not compute."""
ANY = (*FLOATS, *INTEGERS, *SMALL_INTEGERS, "bool")
"""Every element type a tensor on the device may have."""


def kernel_dtype(dtype: str) -> str:
    """The dtype in which kernels hold a tensor's elements once read: float32 or int32.

    KeyError for a dtype that only the host handles.
    """
    return "float32" if device_dtype(dtype) == "float32" else "int32"
