"""Arrays of the caller on the host, which runs read and write in place."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..plan.records import TensorInfo

Array = NDArray[Any]
_ON_HOST = 1
"""DLPack's kDLCPU."""


def host_array(info: TensorInfo, value: Any, writes: bool) -> Array:
    """The caller's memory as an array of the tensor's shape and dtype, without a copy.

    `value` is a numpy array or any object with the buffer protocol or DLPack. It must have the
    tensor's dtype and shape, or be plain bytes (bytearray, mmap) of exactly the tensor's size.
    `writes` says that runs write to it. InputError says what does not fit, and what would.
    """
    form = f"{info.dtype} of shape {list(info.shape)}"
    check_bindable(info)
    array = _viewed(value)
    if array is None:
        raise InputError(
            f"expected {form}, got {type(value).__name__}; bind a numpy array, an object with the "
            "buffer protocol or DLPack, or a buffer of pyopencl or moderngl"
        )
    dtype = np.dtype(info.dtype)
    size = prod(info.shape) * dtype.itemsize
    if not isinstance(value, np.ndarray) and array.dtype == np.uint8 and array.ndim == 1:
        if array.nbytes != size:
            raise InputError(f"expected {form}, which is {size} bytes, got {array.nbytes} bytes")
        array = array.view(dtype).reshape(info.shape)
    if array.dtype != dtype or array.shape != info.shape:
        raise InputError(f"expected {form}, got {array.dtype} of shape {list(array.shape)}")
    if writes and not array.flags.writeable:
        raise InputError(f"expected an array of {form} that can be written, got a read-only one")
    return array


def check_bindable(info: TensorInfo) -> None:
    """InputError for a tensor without an array of a fixed size."""
    if info.dtype == "string" or info.dynamic:
        what = "strings" if info.dtype == "string" else "a shape that only a run determines"
        raise InputError(f"{info.name} has {what}, and cannot be bound; use Session.run")


def _viewed(value: Any) -> Array | None:
    """The memory of an object as an array; None if it is not on the host, or has none."""
    if isinstance(value, np.ndarray):
        return value
    try:
        return np.asarray(memoryview(value))
    except (TypeError, ValueError):
        pass
    if hasattr(value, "__dlpack__") and value.__dlpack_device__()[0] == _ON_HOST:
        try:
            return np.from_dlpack(value)
        except (TypeError, ValueError, BufferError, RuntimeError):
            return None
    return None
