"""Decoding of sparse constants.

TFLite stores a sparse tensor as a tree with one level per dimension, in `traversal_order`. A level
is either dense (every index is present) or compressed (segments and indices, as in CSR). Dimensions
may be divided into blocks; the dimensions within a block then follow as separate levels, numbered
from the rank on, and `block_map` gives the dimension that each of them divides. The values are the
leaves, in order.
"""

from math import prod
from typing import Any

import numpy as np
import tflite
from numpy.typing import NDArray

from ..errors import ModelError
from ..ir import Array, Shape
from ..tflite_schema import DENSE, SPARSE
from .constants import Bytes, byte_size, decode
from .flatbuffer import Source

# Flat indices into the decoded tensor, 8 bytes each. Temporary arrays of them count towards the
# bytes copied.
Positions = NDArray[np.int64]

_INDEX_TABLES = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}


def densify(source: Source, raw: Bytes, dtype: str, shape: Shape, sparsity: Any) -> Array:
    """The decoded content of a sparse constant (ModelError if its tree does not fit its shape)."""
    source.copy(byte_size(dtype, shape) or 0)
    levels = source.children(sparsity, "DimMetadata")
    order = source.numbers(sparsity, "TraversalOrder")
    divides = source.numbers(sparsity, "BlockMap")
    rank = len(shape)
    if len(levels) != len(order) or sorted(order) != list(range(rank + len(divides))):
        raise ModelError("its sparse levels do not match its rank")
    blocks = _block_sizes(levels, order, divides, shape)
    strides = [prod(shape[axis + 1 :]) for axis in range(rank)]
    # Walk down the tree, keeping the flat index at which each node of the current level starts.
    positions: Positions = np.zeros(1, np.int64)
    for level, dimension in zip(levels, order, strict=True):
        if dimension < rank:
            size = shape[dimension] // blocks[dimension]
            step = strides[dimension] * blocks[dimension]
        else:
            axis = divides[dimension - rank]
            size, step = blocks[axis], strides[axis]
        positions = _descend(source, level, positions, size, step)
    values = decode(source, raw, dtype, (len(positions),))
    dense = np.zeros(prod(shape), values.dtype)
    dense[positions] = values
    return dense.reshape(shape)


def _block_sizes(
    levels: list[Any], order: tuple[int, ...], divides: tuple[int, ...], shape: Shape
) -> list[int]:
    """The size of the blocks into which each dimension is divided; 1 if it is not divided."""
    blocks = [1] * len(shape)
    for position, axis in enumerate(divides):
        if not 0 <= axis < len(shape) or blocks[axis] != 1:
            raise ModelError(
                f"its block map has dimension {axis}, which does not exist or is divided twice"
            )
        blocks[axis] = int(levels[order.index(len(shape) + position)].DenseSize())
        if blocks[axis] < 1 or shape[axis] % blocks[axis]:
            raise ModelError(f"blocks of {blocks[axis]} do not divide its shape {list(shape)}")
    return blocks


def _descend(source: Source, level: Any, parents: Positions, size: int, step: int) -> Positions:
    """The flat indices of a level's nodes, from those of the level above (ModelError)."""
    if level.Format() == DENSE:
        if level.DenseSize() != size:
            raise ModelError(f"a dense level has {level.DenseSize()} indices instead of {size}")
        source.copy(2 * 8 * len(parents) * size)
        return (parents[:, None] + np.arange(size) * step).reshape(-1)
    if level.Format() != SPARSE:
        raise ModelError(f"a level has the unknown format {level.Format()}")
    segments = read_indices(source, level.ArraySegmentsType(), level.ArraySegments())
    indices = read_indices(source, level.ArrayIndicesType(), level.ArrayIndices())
    counts = np.diff(segments)
    if len(counts) != len(parents) or segments[0] != 0 or (counts < 0).any():
        raise ModelError("the segments of a sparse level do not match the level above")
    if segments[-1] != len(indices) or (indices < 0).any() or (indices >= size).any():
        raise ModelError(f"the indices of a sparse level are not all below {size}")
    return np.repeat(parents, counts) + indices * step


def read_indices(source: Source, kind: int, union: Any) -> Positions:
    """The segments or indices of a compressed level (ModelError if it has none)."""
    if union is None or kind not in _INDEX_TABLES:
        raise ModelError("a sparse level has no segments or no indices")
    table = _INDEX_TABLES[kind]()
    table.Init(union.Bytes, union.Pos)
    length = table.ValuesLength()
    source.copy(4 * 8 * length)
    values = table.ValuesAsNumpy() if length else np.empty(0)
    return np.asarray(values, np.int64)
