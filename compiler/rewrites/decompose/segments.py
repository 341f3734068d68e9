"""Reductions of segments become gathers of their rows, and one reduction over all segments.

Where the ids are computed while the model runs, each row is joined with that of its segment.
"""

from math import prod

import numpy as np

from ...ir import Array, Tensor
from ...ops.decomposed.segments import JOINS, REDUCTIONS
from ...ops.indexing.windows import JOIN, JOIN_ALONG, joins_lines
from .decomposition import Decomposition, decomposes


@decomposes(*REDUCTIONS)
def reduce_segments(here: Decomposition) -> Tensor:
    """Of rows [count, width]."""
    op = here.op
    ids, shape = op.operand(1), op.output.shape
    rows = here.reshape(op.operand(0), (ids.elements, prod(shape[1:])))
    computed = ids.data is None and op.name in JOINS
    result = _joined(here, rows) if computed else _reduced(here, rows)
    return here.reshape(result, shape)


def _joined(here: Decomposition, rows: Tensor) -> Tensor:
    """Segments begin with what changes no result; a row without a segment is left out."""
    op, (count, width) = here.op, rows.shape
    start = here.constant(_start(REDUCTIONS[op.name], rows), rows.dtype)
    size = here.constant([op.output.shape[0], width], "int32")
    segments, join = here.add("FILL", size, start, dtype=rows.dtype), JOINS[op.name]
    if joins_lines(segments, 0, count, here.target):
        places = here.reshape(op.operand(1), (count,))
        return here.add(JOIN_ALONG, segments, places, rows, axis=0, join=join)
    windows = here.reshape(rows, (count, 1, width))
    starts = here.reshape(op.operand(1), (count, 1))
    return here.add(JOIN, segments, starts, windows, axes=(0,), join=join)


def _reduced(here: Decomposition, rows: Tensor) -> Tensor:
    """Every segment is filled up to the longest with a row that changes no result."""
    op, count = here.op, here.op.output.shape[0]
    members = _members(op.constant(1).reshape(-1), count)
    if members is None:
        raise op.invalid(f"an id is not below the {count} segments")
    start = here.constant(_start(REDUCTIONS[op.name], rows), rows.dtype)
    filled = here.add("PADV2", rows, here.constant([[0, 1], [0, 0]], "int32"), start)
    order = here.constant(members, "int32")
    gathered = here.add("GATHER", filled, order, axis=0, batch_dims=0)
    return here.reduce(REDUCTIONS[op.name], gathered, 1, keep_dims=False)


def _members(ids: Array, count: int) -> Array | None:
    """The rows of each segment [count, longest + 1], then the row behind all others.

    Rows with a negative id are in no segment. None if an id is too large.
    """
    if ids.max(initial=-1) >= count:
        return None
    chosen = np.flatnonzero(ids >= 0)
    chosen = chosen[np.argsort(ids[chosen], kind="stable")]
    owners = ids[chosen]
    sizes = np.bincount(owners, minlength=count)
    found = np.full((count, sizes.max(initial=0) + 1), ids.size)
    found[owners, np.arange(chosen.size) - (np.cumsum(sizes) - sizes)[owners]] = chosen
    return found


def _start(reduction: str, rows: Tensor) -> float:
    """What a reduction of no rows gives."""
    limits = np.iinfo(np.int32) if rows.dtype == "int32" else np.finfo(np.float32)
    least, most = float(limits.min), float(limits.max)
    return {"SUM": 0, "REDUCE_PROD": 1, "REDUCE_MAX": least, "REDUCE_MIN": most}[reduction]
