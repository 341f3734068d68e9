"""REDUCE_WINDOW: a reduction of the elements in windows over any axes; shapes only.

`rewrites/decompose/reduce_window.py` decomposes it, and StableHLO's, which pads and dilates first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..ir import Array, Op, Shape
from .base import FLOATS, INTEGERS, define

FUNCTIONS = {
    "ADD": ("SUM", "ADD"),
    "MUL": ("REDUCE_PROD", "MUL"),
    "MINIMUM": ("REDUCE_MIN", "MINIMUM"),
    "MAXIMUM": ("REDUCE_MAX", "MAXIMUM"),
    "ALL": ("REDUCE_ALL", "LOGICAL_AND"),
    "ANY": ("REDUCE_ANY", "LOGICAL_OR"),
}
"""By the option reduce_function, the reduction, and the operator that joins two values."""


@dataclass(frozen=True)
class Windows:
    """The windows along one axis."""

    extent: int
    size: int
    stride: int
    dilation: int

    @property
    def count(self) -> int:
        """How many there are."""
        return max((self.extent - (self.size - 1) * self.dilation - 1) // self.stride + 1, 0)

    @property
    def whole(self) -> bool:
        """Whether each element is a window of its own."""
        return self.size == self.stride == 1

    @property
    def places(self) -> Array:
        """What each window covers [count, size]."""
        first = np.arange(self.count) * self.stride
        return np.asarray(first[:, None] + np.arange(self.size) * self.dilation)


@dataclass(frozen=True)
class Around:
    """What STABLEHLO_REDUCE_WINDOW puts between the elements of an axis, and around them."""

    dilation: int
    before: int
    after: int

    def extent(self, size: int) -> int:
        """The size of the axis with it."""
        return (max((size - 1) * self.dilation + 1, 0) if size else 0) + self.before + self.after


def windows(op: Op) -> list[Windows]:
    """The windows along each axis of a REDUCE_WINDOW (ModelError)."""
    columns = [op.integers(position) for position in (2, 3, 4)]
    return _windows(op, op.operand(0).shape, columns)


def _windows(op: Op, shape: Shape, columns: Sequence[Sequence[int]]) -> list[Windows]:
    if any(len(column) != len(shape) or min(column, default=1) < 1 for column in columns):
        raise op.invalid(
            f"windows {columns[0]}, strides {columns[1]} and dilations {columns[2]} for "
            f"{list(shape)}"
        )
    return [Windows(*along) for along in zip(shape, *columns, strict=True)]


def around(op: Op) -> list[Around]:
    """What a STABLEHLO_REDUCE_WINDOW puts around each axis (ModelError)."""
    rank = len(op.operand(0).shape)
    dilations = op.integers_in("base_dilations") or [1] * rank
    edges = op.integers_in("padding") or [0] * (2 * rank)
    if len(dilations) != rank or len(edges) != 2 * rank or min(dilations, default=1) < 1:
        raise op.invalid(f"dilations {dilations}, padding {edges} for rank {rank}")
    return [Around(*along) for along in zip(dilations, edges[::2], edges[1::2], strict=True)]


def stablehlo_windows(op: Op) -> list[Windows]:
    """The windows of a STABLEHLO_REDUCE_WINDOW along each axis, once padded (ModelError)."""
    given = op.operand(0).shape
    shape = tuple(along.extent(size) for along, size in zip(around(op), given, strict=True))
    names = ("window_dimensions", "window_strides", "window_dilations")
    return _windows(op, shape, [op.integers_in(name) or [1] * len(shape) for name in names])


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
    note="becomes pools, or GATHER and reductions",
)
define(
    "STABLEHLO_REDUCE_WINDOW x:T start:T -> y:T",
    _infer_stablehlo,
    dtypes=_TYPES,
    note="of sums, products, minima and maxima; becomes REDUCE_WINDOW, or CUMSUM",
)
