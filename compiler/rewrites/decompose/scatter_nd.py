"""A SCATTER_ND with constant indices becomes a GATHER."""

from __future__ import annotations

from math import prod

import numpy as np

from .decomposition import Decomposition, decomposes

MAX_COMPARED = 1 << 16
"""Comparisons of output elements with indices up to which the SCATTER_ND kernel is faster."""


@decomposes("SCATTER_ND")
def scatter_nd(here: Decomposition) -> str | None:
    """Each row of the output is a row of the updates or, where nothing goes, a row of zeros."""
    indices, updates = here.op.operand(0), here.op.operand(1)
    shape, depth = here.op.output.shape, indices.shape[-1]
    rows, count = prod(shape[:depth]), prod(indices.shape[:-1])
    if indices.data is None:
        return "the indices are computed while the model runs"
    if here.op.output.elements * count <= MAX_COMPARED or depth == 0:
        return "the output is small enough for the SCATTER_ND kernel"
    try:
        places = np.ravel_multi_index(tuple(indices.data.reshape(count, depth).T), shape[:depth])
    except ValueError:
        return "an index is out of range"
    if len(np.unique(places)) < count:
        return "several updates to the same element must be summed"
    sources = np.full(rows, count, np.int32)
    sources[places] = np.arange(count)
    table = here.reshape(updates, (count, prod(shape[depth:])))
    if count < rows:
        table = here.add("PAD", table, here.constant([[0, 1], [0, 0]], "int32"))
    found = here.add("GATHER", table, here.constant(sources, "int32"), axis=0, batch_dims=0)
    here.finish(here.reshape(found, shape))
    return None
