"""Operators at constant places: some are a SLICE, which may be read where it is, or a GATHER."""

from math import prod

import numpy as np

from ...ir import Tensor
from ...ops.base.shapes import normalize_axis
from ...ops.decomposed.composite import places
from .decomposition import Decomposition, decomposes

# Comparisons of output elements with indices up to which the SCATTER_ND kernel is faster.
MAX_COMPARED = 1 << 16


@decomposes("GATHER")
def gather(here: Decomposition) -> Tensor | str:
    """At consecutive places it is a SLICE; recurrent layers take their rows one by one so."""
    table, indices = here.op.operand(0), here.op.operand(1)
    if indices.data is None:
        return "the indices are computed while the model runs"
    if here.op.attrs.get("batch_dims", 0):
        return "each entry of the batch has indices of its own"
    axis = normalize_axis(here.op, int(here.op.attrs.get("axis", 0)), len(table.shape))
    taken = indices.data.ravel()
    if not taken.size or (np.diff(taken) != 1).any():
        return "the indices are not consecutive"
    if taken[0] < 0 or taken[-1] >= table.shape[axis]:
        return "an index is out of range"
    begin = [int(taken[0]) if number == axis else 0 for number in range(len(table.shape))]
    size = [*table.shape[:axis], taken.size, *table.shape[axis + 1 :]]
    return here.reshape(here.slice(table, begin, size), here.op.output.shape)


@decomposes("SCATTER_ND")
def scatter_nd(here: Decomposition) -> Tensor | str:
    """Each row of the output is a row of the updates or, where nothing goes, a row of zeros."""
    indices, updates = here.op.operand(0), here.op.operand(1)
    shape, depth = here.op.output.shape, indices.shape[-1]
    rows, count = prod(shape[:depth]), prod(indices.shape[:-1])
    if indices.data is None:
        return "the indices are computed while the model runs"
    if here.op.output.elements * count <= MAX_COMPARED or depth == 0:
        return "the output is small enough for the SCATTER_ND kernel"
    try:
        targets = np.ravel_multi_index(tuple(indices.data.reshape(count, depth).T), shape[:depth])
    except ValueError:
        return "an index is out of range"
    if len(np.unique(targets)) < count:
        return "several updates to the same element must be summed"
    sources = np.full(rows, count, np.int32)
    sources[targets] = np.arange(count)
    table = here.reshape(updates, (count, prod(shape[depth:])))
    if count < rows:
        table = here.add("PAD", table, here.constant([[0, 1], [0, 0]], "int32"))
    found = here.add("GATHER", table, here.constant(sources, "int32"), axis=0, batch_dims=0)
    return here.reshape(found, shape)


@decomposes("SPARSE_TO_DENSE")
def sparse_to_dense(here: Decomposition) -> Tensor:
    """A mask selects between gathered values and the default; the last value for a place counts."""
    values, default, result = here.op.operand(2), here.op.operand(3), here.op.output
    found = places(here.op)
    default = here.reshape(default, ())
    if not found.size:
        return here.add("BROADCAST_TO", default, here.constant(result.shape, "int32"))
    sources, given = np.zeros((2, result.elements), np.int32)
    given[found] = 1
    chosen = values
    if values.shape:
        sources[found] = np.arange(found.size)
        order = here.constant(sources.reshape(result.shape), "int32")
        chosen = here.add("GATHER", values, order, axis=0, batch_dims=0)
    mask = here.constant(given.reshape(result.shape), "bool")
    return here.add("SELECT_V2", mask, chosen, default, dtype=values.dtype)
