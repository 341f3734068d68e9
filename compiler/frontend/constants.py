"""Contents of constant tensors: from the bytes of a model file to arrays, and back.

An array of a type that numpy has is a view of the file. Other types are held in a wider type: int2
and int4 as int8, uint4 as uint8, bfloat16 as float32. The float8 types stay bit patterns in uint8.
A string tensor is an array of `bytes` objects.

Variables, too, have contents that the file gives them, by operators that only fill them.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError
from ..ir import Array, Op, Shape, Tensor, extent
from .flatbuffer import Source

Bytes = NDArray[np.uint8]

LIMIT = 2**31 - 1  # Most elements, and most bytes, of a tensor, as in LiteRT.

# Bits per element of types with several elements per byte, the first in the lowest bits.
PACKED = {"int2": 2, "int4": 4, "uint4": 4}

_FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
_WITHOUT_BYTES = ("string", "resource", "variant")


def byte_size(dtype: str, shape: Shape) -> int | None:
    """Bytes of a tensor, None if its content decides (ModelError if over LIMIT, or negative).

    A tensor without elements has no bytes, but is to have sizes that arrays can have.
    """
    if any(size < 0 for size in shape):
        raise ModelError(f"the shape {list(shape)} has a negative size")
    elements = extent(shape)
    if dtype in _WITHOUT_BYTES:
        size = 0
    elif dtype in PACKED:
        size = -(-elements * PACKED[dtype] // 8)
    else:
        size = elements * _stored(dtype).itemsize
    if max(elements, size) > LIMIT:
        raise ModelError(
            f"the sizes in the shape {list(shape)} but 0 multiply to {elements} elements in {size} "
            f"bytes; at most {LIMIT} of either are possible"
        )
    return None if dtype in _WITHOUT_BYTES else size * (0 not in shape)


def _stored(dtype: str) -> np.dtype[np.generic]:
    if dtype == "bfloat16":
        return np.dtype(np.uint16)
    return np.dtype(np.uint8 if dtype in _FLOAT8 else dtype)


def decode(source: Source, raw: Bytes, dtype: str, shape: Shape) -> Array:
    """The content of a constant (ModelError if `raw` is too short for its shape and type)."""
    if dtype == "string":
        return _decode_strings(source, raw, shape)
    size = byte_size(dtype, shape)
    if size is None:
        raise ModelError(f"a tensor of type {dtype} cannot be a constant")
    if len(raw) < size:
        raise ModelError(
            f"its shape {list(shape)} needs {size} bytes, but its buffer has {len(raw)}"
        )
    if dtype in PACKED:
        source.copy(prod(shape))
        return _unpack(raw[:size], dtype, prod(shape)).reshape(shape)
    if dtype == "bool":
        source.copy(size)
        return np.not_equal(raw[:size], 0).reshape(shape)
    stored: Array = raw[:size].view(_stored(dtype)).reshape(shape)
    if dtype == "bfloat16":
        source.copy(2 * size)
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored


def _unpack(raw: Bytes, dtype: str, elements: int) -> Array:
    bits = PACKED[dtype]
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    lanes: Array = (raw[:, None] >> shifts).reshape(-1)[:elements]
    if dtype.startswith("uint"):
        lanes &= (1 << bits) - 1
        return lanes
    # Shift each element to the top of its byte and back, which extends its sign.
    lanes <<= 8 - bits
    signed: Array = lanes.view(np.int8)
    signed >>= 8 - bits
    return signed


def _decode_strings(source: Source, raw: Bytes, shape: Shape) -> Array:
    """The layout is: int32 count, int32 offset of each string and of the end, characters."""
    byte_size("string", shape)
    elements = prod(shape)
    header = 4 * (elements + 2)
    source.spend(elements)
    if len(raw) < header:
        raise ModelError(
            f"its {elements} strings need at least {header} bytes, but its buffer has {len(raw)}"
        )
    count, *offsets = raw[:header].view(np.int32).tolist()
    if count != elements:
        raise ModelError(
            f"its shape {list(shape)} needs {elements} strings, but its buffer has {count}"
        )
    if sorted(offsets) != offsets or offsets[0] < header or offsets[-1] > len(raw):
        raise ModelError("its strings lie outside its buffer")
    source.copy(offsets[-1] - offsets[0])
    result = np.empty(elements, object)
    for position, (start, end) in enumerate(pairwise(offsets)):
        result[position] = raw[start:end].tobytes()
    return result.reshape(shape)


def encode(data: Array, dtype: str) -> bytes:
    """The bytes a constant has in a file: the inverse of `decode`."""
    if dtype == "string":
        return _encode_strings([bytes(value) for value in data.reshape(-1)])
    if dtype in PACKED:
        return _pack(data, PACKED[dtype])
    if dtype == "bfloat16":
        return (data.astype("<f4").view(np.uint32) >> 16).astype("<u2").tobytes()
    return data.astype(_stored(dtype).newbyteorder("<"), copy=False).tobytes()


def _pack(data: Array, bits: int) -> bytes:
    lanes = data.reshape(-1).astype(np.uint8) & np.uint8((1 << bits) - 1)
    lanes = np.pad(lanes, (0, -len(lanes) % (8 // bits))).reshape(-1, 8 // bits)
    shifted = lanes << np.arange(0, 8, bits, dtype=np.uint8)
    packed: Array = np.bitwise_or.reduce(shifted, axis=1, dtype=np.uint8)
    return packed.tobytes()


def _encode_strings(values: list[bytes]) -> bytes:
    start = 4 * (len(values) + 2)
    ends = start + np.cumsum([len(value) for value in values], dtype=np.int64)
    header = np.array([len(values), start, *ends], "<i4")
    return header.tobytes() + b"".join(values)


def first_contents(tensors: Sequence[Tensor], ops: list[Op]) -> dict[Tensor, Array]:
    """The contents of variables that do not begin with 0; removes from `ops` what only gives them.

    With weights in half precision, TensorFlow's converter has the states of recurrent layers
    dequantized from constants, which LiteRT does once, in the first run.
    """
    contents: dict[Tensor, Array] = {}
    for tensor in tensors:
        if tensor.variable and tensor.dtype == "int8" and tensor.quantization:
            # LiteRT's variables of this type begin with their zero point, others with 0.
            zero = tensor.quantization.zero_point[0]
            contents[tensor] = np.full(tensor.shape, zero, np.int8)
    for op in filter(_begins, tuple(ops)):
        contents[op.output] = op.constant(0).astype(np.float32)
        ops.remove(op)
    return contents


def _begins(op: Op) -> bool:
    if op.name != "DEQUANTIZE" or not op.output.variable:
        return False
    source = op.operand(0)
    return source.constant and source.dtype == "float16" and source.shape == op.output.shape
