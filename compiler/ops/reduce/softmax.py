"""SOFTMAX of beta * x, over the last axis unless the attribute `axis` names another."""

from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.images import flattens, rank_fits
from ..base.launch import Launch
from ..base.row_slices import no_long_rows
from ..base.shapes import normalize_axis
from ..base.storage import bhwc_axes
from ..base.traits import Permutable, Traits
from .lines import LARGEST, SUM, Lines, group_size, too_few_parts


def softmax_axis(op: Op) -> int:
    """The axis; a .tflite file has no such attribute, but rewrites set it."""
    return normalize_axis(op, op.attrs.get("axis", -1), len(op.operand(0).shape))


def infer(op: Op) -> list[Shape]:
    shape = op.operand(0).shape
    if not shape:
        raise op.invalid("the input is a scalar")
    return [shape]


def reference(op: Op, values: Array) -> Array:
    axis = softmax_axis(op)
    x = values * op.attrs.get("beta", 0.0)
    powers = np.exp(x - x.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


def _over_channels(op: Op, target: Target) -> str | None:
    last = len(op.output.shape) - 1
    return None if softmax_axis(op) == last else f"it is over axis {softmax_axis(op)}, not channels"


def _over_pixels(op: Op, target: Target) -> str | None:
    if reason := rank_fits(op, target):
        return reason
    along = bhwc_axes(op.output.shape, {softmax_axis(op)})
    return None if along <= {1, 2} else "it is not over rows or columns"


def _few_rows(op: Op, target: Target) -> str | None:
    """A work-group per row pays if rows are few and long."""
    if reason := _over_channels(op, target):
        return reason
    *outer, count = op.output.shape
    if prod(outer) >= target.device.work_items:
        return f"{prod(outer)} rows already keep the device busy"
    return too_few_parts(count // target.lanes, prod(outer), target)


def _few_pixels(op: Op, target: Target) -> str | None:
    reason = rank_fits(op, target) or _few_rows(op, target)
    if reason is None and not flattens(op):
        return "its epilogue needs height and width as separate axes"
    return reason


def _long_rows(op: Op, target: Target) -> str | None:
    return _over_channels(op, target) or no_long_rows(op, target, op.epilogue_inputs, op.operand(0))


def _channels(op: Op, target: Target) -> str | None:
    return rank_fits(op, target) or _over_channels(op, target)


def _across_rows(op: Op, target: Target) -> str | None:
    if softmax_axis(op) == len(op.output.shape) - 1:
        return "it is along the rows"
    return no_long_rows(op, target, op.epilogue_inputs, op.operand(0))


def _lines(op: Op) -> Lines:
    variables = {"largest": LARGEST, "sum": SUM, "beta": op.attrs.get("beta", 0.0)}
    flops = 5 * op.output.elements
    return Lines(op, "reduce/softmax.jinja", variables, flops, lanes_first=True)


def _sliced(op: Op, target: Target) -> Launch:
    return _lines(op).by_slices(target, bhwc_axes(op.output.shape, {softmax_axis(op)}))


def _sliced_group(op: Op, target: Target) -> Launch:
    items = group_size(op.output.shape[-1] // target.lanes, target)
    return _lines(op).by_slices(target, {3}, group_items=items)


def _linear(op: Op, target: Target) -> Launch:
    """Processors make vectors of neighbouring lines if no line has a loop."""
    return _lines(op).by_elements({softmax_axis(op)}, hold=target.lanes > 4)


def _linear_group(op: Op, target: Target) -> Launch:
    items = group_size(op.output.shape[-1] // target.lanes, target)
    return _lines(op).by_elements({softmax_axis(op)}, group_items=items)


def _columns(op: Op, target: Target) -> Launch:
    return _lines(op).by_columns(target, {softmax_axis(op)})


IMPLEMENTATIONS = (
    Implementation("softmax_group", _sliced_group, _few_pixels),
    row_major("softmax_group_linear", _linear_group, _few_rows),
    Implementation("softmax", _sliced, _channels),
    Implementation("softmax_pixels", _sliced, _over_pixels),
    row_major("softmax_rows", lambda op, _: _lines(op).by_rows(hold=True), _long_rows),
    row_major("softmax_columns", _columns, _across_rows),
    row_major("softmax_linear", _linear),
)

define(
    "SOFTMAX x -> y",
    infer,
    IMPLEMENTATIONS,
    reference,
    versions=4,
    traits=Traits(permutable=Permutable(axis=softmax_axis)),
)
