"""tflgpu.row_scales: the scales and the zero points with which rows of floats become integers.

    s, z = tflgpu.row_scales(x)     x[..., channels], s[..., 1], z[..., 1]

As tflgpu.row_scale and tflgpu.row_zero have them, from the least and the greatest number of each
row. A kernel reads a row once; which of them a NaN counts as is left to the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir import Array, Op, Shape
from ..target import Target
from . import numpy_functions
from .base import LINEAR, Implementation, Launch, OpDef, define
from .elementwise import flattens, rank_fits
from .lines import LARGEST, SMALLEST, Lines
from .row_rounding import ROW_ROUNDING

NAME = "tflgpu.row_scales"

_SCALE, _ZERO = ROW_ROUNDING["tflgpu.row_scale"], ROW_ROUNDING["tflgpu.row_zero"]


def infer(op: Op) -> list[Shape]:
    return [(*op.operand(0).shape[:-1], 1)] * 2


def reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    low, high = (np.asarray(f(arrays[0], -1, keepdims=True)) for f in (np.min, np.max))
    scale = _SCALE.formula(numpy_functions, low, high)
    return scale, _ZERO.formula(numpy_functions, low, high, scale)


def _written(launch: Launch, op: Op) -> Sequence[Launch]:
    scale, zero = op.outputs
    return [replace(launch, writes={"y": scale, "points": zero})]


def lines(op: Op) -> Lines:
    """Rows of an operator, with the formulas of what they are scaled by."""
    variables = {
        **{"scale_of": _SCALE.formula, "zero_of": _ZERO.formula},
        **{"smallest": replace(SMALLEST, start=0.0), "largest": replace(LARGEST, start=0.0)},
    }
    return Lines(op, "reduce/row_scales.jinja", variables, 2 * op.operand(0).elements)


def _sliced(op: Op, target: Target) -> Sequence[Launch]:
    return _written(lines(op).by_slices(target, {3}, flatten=flattens(op)), op)


def _linear(op: Op, target: Target) -> Sequence[Launch]:
    return _written(lines(op).by_rows(), op)


define(
    OpDef(
        NAME,
        infer,
        (
            Implementation("row_scales", _sliced, rank_fits, fuses=False),
            Implementation("row_scales_linear", _linear, reads=LINEAR, writes=LINEAR, fuses=False),
        ),
        reference,
    )
)
