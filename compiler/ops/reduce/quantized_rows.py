"""tflgpu.quantized_rows: rows of floats as integers, with their scales and zero points.

Its core, which is fused, is a tflgpu.row_scales over the last axis and, of the same rows, a
tflgpu.round_rows or tflgpu.quantize_rows:

    s, z = tflgpu.row_scales(x)   i = tflgpu.round_rows(x, s, z)       outputs i, s, z

Before them may be the normalization whose result the rows are, with a gain and an offset of each
channel, which are constants: x = tflgpu.normalization(w)   y = MUL(x, gain)   s, z = ...
"""

from dataclasses import replace
from math import prod

import numpy as np

from ...ir import Op, Tensor
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.images import flattens, rank_fits
from ..base.launch import Launch
from ..base.shapes import as_inferred
from ..base.storage import slice_count
from ..elementwise.elementwise import ELEMENTWISE
from . import normalization
from .extremes import FOLDS, FORMULAS, ROW_SCALES
from .lines import SQUARES, SUM, Lines, axes_of_rows, shared_by, too_few_parts

NAME = "tflgpu.quantized_rows"
ROUNDING = ("tflgpu.round_rows", "tflgpu.quantize_rows")


def _lines(op: Op) -> Lines:
    rounded = ELEMENTWISE[op.core[-1].name].formula
    variables = {
        **{"folds": FOLDS, "rounded": rounded, "normalizes": normalizes(op)},
        **{f"{name}_of": formula for name, formula in FORMULAS[ROW_SCALES].items()},
    }
    return Lines(op, "reduce/quantized_rows.jinja", variables, 4 * op.operand(0).elements)


def _written(launch: Launch, op: Op) -> Launch:
    return replace(launch, writes=dict(zip(("y", "scales", "points"), op.outputs, strict=True)))


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


def too_short(rows: Tensor, target: Target) -> str | None:
    """Why the work-items of a group do not share a row; None if they do."""
    if len(rows.shape) > 4:
        return f"rank {len(rows.shape)} is above 4"
    slices = slice_count(rows.shape[-1], target)
    return too_few_parts(slices, prod(rows.shape[:-1]), target)


def _sliced(op: Op, target: Target) -> Launch:
    *outer, columns = op.operand(0).shape
    items = shared_by(slice_count(columns, target), prod(outer), target)
    flat = flattens(op, [op.operand(0)])
    launch = _written(_lines(op).by_slices(target, {3}, group_items=items, flatten=flat), op)
    return _normalized(launch, op, target) if normalizes(op) else launch


def _linear(op: Op, target: Target) -> Launch:
    shape, rows = op.operand(0).shape, _lines(op)
    last = {len(shape) - 1}
    long = axes_of_rows(shape, last, target)
    return _written(rows.by_rows() if long else rows.by_elements(last), op)


define(
    NAME,
    as_inferred,
    (
        Implementation("quantized_rows", _sliced, rank_fits, fuses=False),
        row_major("quantized_rows_linear", _linear, _in_rows, fuses=False),
    ),
)
