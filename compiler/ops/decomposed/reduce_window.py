"""REDUCE_WINDOW: a reduction of the elements in windows over any axes; shapes only.

`rewrites/decompose/reduce_window.py` decomposes it, and StableHLO's, which pads and dilates first.
"""

from collections.abc import Sequence
from dataclasses import replace

from ...ir import Op, Shape
from ..base.definition import define
from ..base.storage import FLOATS, INTEGERS
from ..base.window import Along

# By the option reduce_function, the reduction, and the operator that joins two values.
FUNCTIONS = {
    "ADD": ("SUM", "ADD"),
    "MUL": ("REDUCE_PROD", "MUL"),
    "MINIMUM": ("REDUCE_MIN", "MINIMUM"),
    "MAXIMUM": ("REDUCE_MAX", "MAXIMUM"),
    "ALL": ("REDUCE_ALL", "LOGICAL_AND"),
    "ANY": ("REDUCE_ANY", "LOGICAL_OR"),
}


def windows(op: Op) -> list[Along]:
    """The windows along each axis of a REDUCE_WINDOW (ModelError)."""
    return _windows(op, [op.integers(position) for position in (2, 3, 4)])


def _windows(op: Op, columns: Sequence[Sequence[int]]) -> list[Along]:
    shape = op.operand(0).shape
    if any(len(column) != len(shape) or min(column, default=1) < 1 for column in columns):
        raise op.invalid(
            f"windows {columns[0]}, strides {columns[1]} and dilations {columns[2]} for "
            f"{list(shape)}"
        )
    return [Along(*each) for each in zip(shape, *columns, strict=True)]


def stablehlo_windows(op: Op) -> list[Along]:
    """The same of a STABLEHLO_REDUCE_WINDOW, which spreads and pads axes (ModelError)."""
    rank = len(op.operand(0).shape)
    spreads = op.integers_in("base_dilations") or [1] * rank
    edges = op.integers_in("padding") or [0] * (2 * rank)
    if len(spreads) != rank or len(edges) != 2 * rank or min(spreads, default=1) < 1:
        raise op.invalid(f"dilations {spreads}, padding {edges} for rank {rank}")
    names = ("window_dimensions", "window_strides", "window_dilations")
    found = _windows(op, [op.integers_in(name) or [1] * rank for name in names])
    around = zip(found, spreads, edges[::2], edges[1::2], strict=True)
    return [
        replace(each, spread=spread, before=before, after=after)
        for each, spread, before, after in around
    ]


def _infer(op: Op) -> list[Shape]:
    if op.attrs.get("reduce_function") not in FUNCTIONS or op.operand(1).elements != 1:
        raise op.invalid("its function is unknown, or its start no scalar")
    return [tuple(along.count for along in windows(op))]


def _infer_stablehlo(op: Op) -> list[Shape]:
    if op.operand(1).elements != 1:
        raise op.invalid("its start is no scalar")
    return [tuple(along.count for along in stablehlo_windows(op))]


_TYPES = (*FLOATS, *INTEGERS, "bool")

define(
    "REDUCE_WINDOW x:T start:T window:integer strides:integer dilations:integer -> y:T",
    _infer,
    dtypes=_TYPES,
    note="becomes pools, or GATHER and reductions; NaN counts as in these",
)
define(
    "STABLEHLO_REDUCE_WINDOW x:T start:T -> y:T",
    _infer_stablehlo,
    dtypes=_TYPES,
    note="of sums, products, minima and maxima; becomes REDUCE_WINDOW, or CUMSUM",
)
