"""`TensorBuffer`, the memory of an input or output of LiteRT's `CompiledModel`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..compiler.ir import Array, Shape

# The types of arrays that can be written and read; LiteRT's, and the last two.
DTYPES = tuple(
    np.dtype(name)
    for name in ("float32", "float16", "int32", "int8", "uint8", "bool", "int64", "int16")
)


class TensorBuffer:
    """Bytes on the host with the type and shape of a tensor."""

    def __init__(self, memory: Array) -> None:
        """`memory` is a contiguous array, which the buffer shares."""
        self._array: Array | None = memory

    @classmethod
    def create_from_host_memory(cls, data_array: Array) -> TensorBuffer:
        """A buffer that shares a contiguous array (ValueError)."""
        _check(data_array)
        if not data_array.flags.c_contiguous:
            raise ValueError("data_array must be C-contiguous for zero-copy host-memory binding")
        return cls(data_array)

    def write(self, data_array: Array) -> None:
        """Copy an array's bytes to the start of the buffer.

        ValueError if it is no array of a supported type, RuntimeError if it is too large.
        """
        _check(data_array)
        source = np.ascontiguousarray(data_array).reshape(-1).view(np.uint8)
        target = self.bytes("WriteTensorBuffer")
        if source.size > target.size:
            raise RuntimeError("WriteTensorBuffer: source buffer is larger than the tensor buffer")
        target[: source.size] = source

    def read(self, num_elements: int, output_dtype: DTypeLike) -> Array:
        """The first elements of the buffer as an array of one axis.

        ValueError if the type is not supported, RuntimeError if the buffer is too small.
        """
        result = np.empty(num_elements, _supported(output_dtype))
        source = self.bytes("ReadTensorToBuffer")
        if result.nbytes > source.size:
            raise RuntimeError(
                "ReadTensorToBuffer: destination buffer is larger than the tensor buffer"
            )
        result.view(np.uint8)[:] = source[: result.nbytes]
        return result

    def get_tensor_details(self) -> dict[str, Any]:
        """The buffer's `dtype` and `shape`."""
        array = self._opened("GetTensorDetails")
        return {"dtype": array.dtype.name, "shape": list(array.shape)}

    def destroy(self) -> None:
        self._array = None

    def bytes(self, caller: str) -> NDArray[np.uint8]:
        """The buffer's memory (RuntimeError if it has been destroyed)."""
        return self._opened(caller).reshape(-1).view(np.uint8)

    def array(self, dtype: DTypeLike, shape: Shape) -> Array:
        """The start of the buffer as an array that shares its memory (RuntimeError)."""
        size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        memory = self.bytes("Run")
        if memory.size < size:
            raise RuntimeError(
                f"the tensor takes {size} bytes, but its buffer has {memory.size}; create the "
                "buffers after resizing inputs"
            )
        return memory[:size].view(dtype).reshape(shape)

    def _opened(self, caller: str) -> Array:
        if self._array is None:
            raise RuntimeError(f"{caller}: the TensorBuffer has been destroyed")
        return self._array


def _check(array: object) -> None:
    """ValueError unless this is an array of a supported type."""
    if not isinstance(array, np.ndarray):
        raise ValueError("data_array must be a NumPy array")
    _supported(array.dtype)


def _supported(dtype: DTypeLike) -> np.dtype[Any]:
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise ValueError(f"Unsupported dtype: {dtype}") from error
    if found not in DTYPES:
        raise ValueError(f"Unsupported dtype: {dtype}")
    return found
