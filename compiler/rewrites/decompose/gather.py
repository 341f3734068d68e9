"""A GATHER at constant, consecutive places becomes a SLICE, which may be read where it is."""

from __future__ import annotations

import numpy as np

from ...ops.base import normalize_axis
from .decomposition import Decomposition, decomposes


@decomposes("GATHER")
def gather(here: Decomposition) -> str | None:
    """Recurrent layers take the rows of their sequences one by one in this way."""
    table, indices = here.op.operand(0), here.op.operand(1)
    if indices.data is None:
        return "the indices are computed while the model runs"
    if here.op.attrs.get("batch_dims", 0):
        return "each entry of the batch has indices of its own"
    axis = normalize_axis(here.op, int(here.op.attrs.get("axis", 0)), len(table.shape))
    places = indices.data.ravel()
    if not places.size or (np.diff(places) != 1).any():
        return "the indices are not consecutive"
    if places[0] < 0 or places[-1] >= table.shape[axis]:
        return "an index is out of range"
    begin = [int(places[0]) if number == axis else 0 for number in range(len(table.shape))]
    size = [*table.shape[:axis], places.size, *table.shape[axis + 1 :]]
    bounds = here.constant(begin, "int32"), here.constant(size, "int32")
    here.finish(here.reshape(here.add("SLICE", table, *bounds), here.op.output.shape))
    return None
