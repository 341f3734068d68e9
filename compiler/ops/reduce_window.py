"""REDUCE_WINDOW: a reduction of the elements in windows over any axes; shapes only.

`rewrites/decompose/reduce_window.py` decomposes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..ir import Array, Op, Shape
from .base import FLOATS, INTEGERS, OpDef, define

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

    count: int
    size: int
    stride: int
    dilation: int

    @property
    def places(self) -> Array:
        """What each window covers [count, size]."""
        first = np.arange(self.count) * self.stride
        return np.asarray(first[:, None] + np.arange(self.size) * self.dilation)


def windows(op: Op) -> list[Windows]:
    """The windows along each axis (ModelError)."""
    shape = op.operand(0).shape
    columns = [[int(size) for size in op.constant(position).reshape(-1)] for position in (2, 3, 4)]
    if any(len(column) != len(shape) or min(column, default=1) < 1 for column in columns):
        raise ModelError(
            f"operator {op!r}: windows {columns[0]}, strides {columns[1]} and dilations "
            f"{columns[2]} for {list(shape)}"
        )
    found = []
    for extent, size, stride, dilation in zip(shape, *columns, strict=True):
        count = max((extent - (size - 1) * dilation - 1) // stride + 1, 0)
        found.append(Windows(count, size, stride, dilation))
    return found


def _infer(op: Op) -> list[Shape]:
    if op.attrs.get("reduce_function") not in FUNCTIONS or op.operand(1).elements != 1:
        raise ModelError(f"operator {op!r}: its function is unknown, or its start no scalar")
    return [tuple(along.count for along in windows(op))]


define(
    OpDef(
        "REDUCE_WINDOW",
        _infer,
        dtypes=(*FLOATS, *INTEGERS, "bool"),
        note="becomes GATHER and reductions, axis by axis",
    )
)
