"""SPARSE_TO_DENSE with constant indices becomes a GATHER."""

from __future__ import annotations

import numpy as np

from ...ops.sparse_to_dense import places
from .decomposition import Decomposition, decomposes


@decomposes("SPARSE_TO_DENSE")
def sparse_to_dense(here: Decomposition) -> str | None:
    """A mask selects between gathered values and the default; the last value for a place counts."""
    values, default, result = here.op.operand(2), here.op.operand(3), here.op.output
    found = places(here.op)
    default = here.reshape(default, ())
    if not found.size:
        here.finish(here.add("BROADCAST_TO", default, here.constant(result.shape, "int32")))
        return None
    sources, given = np.zeros((2, result.elements), np.int32)
    given[found] = 1
    chosen = values
    if values.shape:
        sources[found] = np.arange(found.size)
        order = here.constant(sources.reshape(result.shape), "int32")
        chosen = here.add("GATHER", values, order, axis=0, batch_dims=0)
    mask = here.constant(given.reshape(result.shape), "bool")
    here.finish(here.add("SELECT_V2", mask, chosen, default, dtype=values.dtype))
    return None
