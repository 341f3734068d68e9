"""Rows of floats as integers: the scales and zero points of rows, alone or with the integers.

    s, z = tflgpu.row_scales(x)     x[..., channels], s[..., 1], z[..., 1]

As tflgpu.row_scale and tflgpu.row_zero have them, from the least and the greatest number of each
row. A kernel reads a row once; which of them a NaN counts as is left to the device.

The core of tflgpu.quantized_rows, which is fused, is a tflgpu.row_scales and, of the same rows, a
tflgpu.round_rows or tflgpu.quantize_rows:

    s, z = tflgpu.row_scales(x)   i = tflgpu.round_rows(x, s, z)       outputs i, s, z

Before them may be the normalization whose result the rows are, with a gain and an offset of each
channel, which are constants: x = tflgpu.normalization(w)   y = MUL(x, gain)   s, z = ...
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..ir import Array, Op, Shape
from ..target import Target
from . import normalization, numpy_functions
from .base.definition import Implementation, define, row_major
from .base.launch import Launch
from .base.shapes import as_inferred
from .base.storage import slice_count
from .elementwise import ELEMENTWISE, flattens, rank_fits
from .lines import LARGEST, SMALLEST, SQUARES, SUM, Lines, axes_of_rows
from .rounding import range_scale, range_zero

ROW_SCALES = "tflgpu.row_scales"
QUANTIZED_ROWS = "tflgpu.quantized_rows"
ROUNDING = ("tflgpu.round_rows", "tflgpu.quantize_rows")


def infer(op: Op) -> list[Shape]:
    return [(*op.operand(0).shape[:-1], 1)] * 2


def reference(op: Op, x: Array) -> Sequence[Array]:
    low, high = (np.asarray(f(x, -1, keepdims=True, initial=0)) for f in (np.min, np.max))
    scale = range_scale(numpy_functions, low, high)
    return scale, range_zero(numpy_functions, low, high, scale)


def lines(op: Op) -> Lines:
    """Rows of an operator, with the formulas of what they are scaled by."""
    variables = {
        **{"scale_of": range_scale, "zero_of": range_zero},
        **{"smallest": replace(SMALLEST, start=0.0), "largest": replace(LARGEST, start=0.0)},
    }
    return Lines(op, "reduce/row_scales.jinja", variables, 2 * op.operand(0).elements)


def _written(launch: Launch, op: Op) -> Launch:
    *integers, scales, points = op.outputs
    if not integers:
        return replace(launch, writes={"y": scales, "points": points})
    rounded = ELEMENTWISE[op.core[-1].name].formula
    return replace(
        launch,
        template="reduce/quantized_rows.jinja",
        writes={"y": integers[0], "scales": scales, "points": points},
        variables={**launch.variables, "rounded": rounded, "normalizes": normalizes(op)},
        flops=launch.flops + 2 * integers[0].elements,
    )


def normalizes(op: Op) -> bool:
    """Whether rows are normalized before they become integers."""
    return op.core[0].name == normalization.NAME


def _normalized(launch: Launch, op: Op, target: Target) -> Launch:
    """Gain and offset are the second operands of what follows the normalization."""
    norm, *affine = op.core[:-2]
    columns = op.operand(0).shape[-1]
    constants = {}
    for role, step in zip(("gain", "offset"), affine, strict=False):
        table = next(tensor.data for tensor in step.reads if tensor.data is not None)
        padded = np.zeros(slice_count(columns, target) * target.lanes, np.float32)
        padded[:columns] = table.reshape(-1)
        constants[role] = padded.reshape(-1, target.lanes)
    own = {**norm.attrs, "count": float(columns), "affine": tuple(constants)}
    variables = {**launch.variables, **own, "sum": SUM, "squares": SQUARES}
    flops = launch.flops + 4 * op.operand(0).elements
    return replace(launch, constants=constants, variables=variables, flops=flops)


def _in_rows(op: Op, target: Target) -> str | None:
    return "it normalizes rows in slices" if normalizes(op) else None


def _sliced(op: Op, target: Target) -> Launch:
    flat = flattens(op, [op.operand(0)])
    launch = _written(lines(op).by_slices(target, {3}, flatten=flat), op)
    return _normalized(launch, op, target) if normalizes(op) else launch


def _linear(op: Op, target: Target) -> Launch:
    shape, rows = op.operand(0).shape, lines(op)
    last = {len(shape) - 1}
    long = axes_of_rows(shape, last, target)
    return _written(rows.by_rows() if long else rows.by_elements(last), op)


def _kernels(name: str) -> tuple[Implementation, ...]:
    linear = row_major(f"{name}_linear", _linear, _in_rows, fuses=False)
    return Implementation(name, _sliced, rank_fits, fuses=False), linear


define(ROW_SCALES, infer, _kernels("row_scales"), reference)
define(QUANTIZED_ROWS, as_inferred, _kernels("quantized_rows"))
