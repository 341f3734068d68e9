"""SEGMENT_SUM and UNSORTED_SEGMENT_*: reductions of the rows that have the same id; shapes only.

`rewrites/decompose/segments.py` decomposes them.
"""

from ...ir import Op, Shape
from ..base.definition import define
from ..base.storage import FLOATS

# The reduction of the rows of a segment.
REDUCTIONS = {
    "SEGMENT_SUM": "SUM",
    "UNSORTED_SEGMENT_MAX": "REDUCE_MAX",
    "UNSORTED_SEGMENT_MIN": "REDUCE_MIN",
    "UNSORTED_SEGMENT_PROD": "REDUCE_PROD",
    "UNSORTED_SEGMENT_SUM": "SUM",
}

# What joins two rows of a segment; SEGMENT_SUM's number of segments needs constant ids.
JOINS = {
    "UNSORTED_SEGMENT_MAX": "MAXIMUM",
    "UNSORTED_SEGMENT_MIN": "MINIMUM",
    "UNSORTED_SEGMENT_PROD": "MUL",
    "UNSORTED_SEGMENT_SUM": "ADD",
}


def _infer(op: Op) -> list[Shape]:
    """A row for each segment; SEGMENT_SUM has as many as its last id says, from constant ids."""
    rows, ids = op.operand(0).shape, op.operand(1).shape
    if not ids or rows[: len(ids)] != ids or (op.name == "SEGMENT_SUM" and len(ids) != 1):
        raise op.invalid(f"ids {list(ids)} do not match rows of {list(rows)}")
    if op.name == "SEGMENT_SUM":
        _check_sorted(op)
    count = int(op.number(2)) if len(op.inputs) > 2 else int(op.constant(1)[-1]) + 1
    if count < 0:
        raise op.invalid(f"it has {count} segments")
    return [(count, *rows[len(ids) :])]


def _check_sorted(op: Op) -> None:
    ids = op.constant(1)
    if not ids.size or ids[0] < 0 or (ids[1:] < ids[:-1]).any():
        raise op.invalid("its ids are negative, not in order, or missing")


_COUNTED = "the number of segments must be a constant"

_LIMITS = {
    "SEGMENT_SUM": "the ids must be constants",
    "UNSORTED_SEGMENT_MAX": f"{_COUNTED}; NaN counts as in REDUCE_MAX",
    "UNSORTED_SEGMENT_MIN": f"{_COUNTED}; NaN counts as in REDUCE_MIN",
}

for _name, _reduction in REDUCTIONS.items():
    _limit = _LIMITS.get(_name, _COUNTED)
    _note = f"becomes GATHER and {_reduction}; {_limit}"
    _ids = "ids:integer" if _name == "SEGMENT_SUM" else "ids:integer count:integer"
    define(f"{_name} x:T {_ids} -> y:T", _infer, dtypes=(*FLOATS, "int32"), note=_note)
