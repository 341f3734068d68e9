"""REDUCE_WINDOW becomes a GATHER of the windows and a reduction of each, axis by axis."""

from __future__ import annotations

from ...ops.reduce_window import FUNCTIONS, windows
from .decomposition import Decomposition, decomposes


@decomposes("REDUCE_WINDOW")
def reduce_window(here: Decomposition) -> str | None:
    """Windows that overlap repeat what they share along one axis at a time only."""
    op = here.op
    reduction, join = FUNCTIONS[op.attrs["reduce_function"]]
    value = op.operand(0)
    for axis, along in enumerate(windows(op)):
        if along.size > 1 or along.count < value.shape[axis]:
            places = here.constant(along.places, "int32")
            parts = here.add("GATHER", value, places, axis=axis, batch_dims=0)
            within = here.constant([axis + 1], "int32")
            value = here.add(reduction, parts, within, keep_dims=False)
    start = here.reshape(op.operand(1), ())
    here.finish(here.add(join, start, value))
    return None
