"""CONV_3D_TRANSPOSE: its window, and its shapes; `rewrites/decompose/` makes it a CONV_3D.

weights [depth, rows, columns, outputs, inputs], x [batch, depth, rows, columns, inputs].
"""

from __future__ import annotations

from math import prod

from ..errors import ModelError
from ..ir import Op, Shape
from .base import OpDef, define
from .weights import check_bias


def around(op: Op) -> list[tuple[int, int]]:
    """Zeros before and after the spread input's depth, rows and columns (ModelError)."""
    found = []
    for axis, (size, step, dilation) in enumerate(_axes(op), 1):
        output, reach = op.output.shape[axis], (size - 1) * dilation
        before = 0
        if op.attrs.get("padding", "SAME") == "SAME":
            before = max((-(-output // step) - 1) * step + reach + 1 - output, 0) // 2
        first = reach - before
        found.append((first, output + reach - first - op.operand(2).shape[axis] * step))
    return found


def strides(op: Op) -> list[int]:
    """Strides along depth, rows and columns."""
    return [step for _, step, _ in _axes(op)]


def _axes(op: Op) -> list[tuple[int, int, int]]:
    """Size, stride and dilation of the window along depth, rows and columns (ModelError)."""
    found = []
    for axis, letter in enumerate("dhw"):
        stride = int(op.attrs.get(f"stride_{letter}", 1))
        dilation = int(op.attrs.get(f"dilation_{letter}_factor", 1))
        if min(stride, dilation) < 1:
            raise ModelError(f"operator {op!r}: stride {stride}, dilation {dilation}")
        found.append((op.operand(1).shape[axis], stride, dilation))
    return found


def _infer(op: Op) -> list[Shape]:
    shape = tuple(int(size) for size in op.constant(0).reshape(-1))
    weights, source = op.operand(1).shape, op.operand(2).shape
    fits = len(shape) == len(weights) == len(source) == 5 and prod(weights) > 0
    if not fits or (shape[0], *weights[3:]) != (source[0], shape[4], source[4]):
        raise ModelError(
            f"operator {op!r}: input {list(source)} and weights {list(weights)} do not give the "
            f"shape {list(shape)}"
        )
    check_bias(op, shape[4], 3)
    _axes(op)
    return [shape]


define(
    OpDef(
        "CONV_3D_TRANSPOSE", _infer, note="becomes CONV_3D; the output's shape must be a constant"
    )
)
