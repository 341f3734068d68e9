"""STABLEHLO_COMPARE: comparisons of floats, in total order too, and of integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..ir import Array, Op
from .base import ANY, OpDef, define, same_as_first

DIRECTIONS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "EQ": ("EQUAL", np.equal),
    "NE": ("NOT_EQUAL", np.not_equal),
    "LT": ("LESS", np.less),
    "LE": ("LESS_EQUAL", np.less_equal),
    "GT": ("GREATER", np.greater),
    "GE": ("GREATER_EQUAL", np.greater_equal),
}
"""By the end of the option comparison_direction, TFLite's operator, and the function."""


def direction(op: Op) -> str:
    """The key of `DIRECTIONS`."""
    return str(op.attrs["comparison_direction"]).rpartition("_")[2]


def in_total_order(op: Op) -> bool:
    """Whether NaN is above infinity, or below if negative, and -0 below 0."""
    return str(op.attrs.get("compare_type")).endswith("TOTAL_ORDER")


def _reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    if in_total_order(op) and arrays[0].dtype.kind == "f":
        arrays = [_places(array) for array in arrays]
    return [DIRECTIONS[direction(op)][1](*arrays)]


def _places(array: Array) -> Array:
    """Integers in the order of the floats: those of negative floats fall with their bits."""
    bits = array.astype(np.float32).view(np.int32)
    return np.asarray(bits ^ (bits >> 31 & 0x7FFFFFFF))


define(
    OpDef(
        "STABLEHLO_COMPARE",
        same_as_first,
        (),
        _reference,
        ANY,
        note="becomes LESS and the like; not in total order, except in STABLEHLO_SORT",
        unimplemented_reason="it compares in total order",
    )
)
