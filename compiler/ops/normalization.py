"""tflgpu.normalization: values minus their mean, divided by their deviation over some axes.

    y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon)      with `centered` True
    y = x / sqrt(mean(x^2) + epsilon)                              with `centered` False

Over the last axis this is layer normalization (arXiv 1607.06450) or, not centered, RMS
normalization (arXiv 1910.07467); over rows and columns, instance normalization (arXiv 1607.08022).
Over channels of a group and pixels it is group normalization (arXiv 1803.08494): the values are
normalized in another shape then, `shape`, such as [1,4096,32,4] for 32 groups of the channels of
[1,64,64,128]. Gain and offset remain separate operators.
"""

from __future__ import annotations

from math import lcm, prod

import numpy as np

from ..ir import Array, Op, Shape
from ..target import Target
from .base import (
    Implementation,
    Launch,
    bhwc,
    define,
    linear_grid,
    row_major,
    same_as_first,
    slice_count,
)
from .elementwise import flattens
from .lines import SQUARES, SUM, Lines, axes_of_rows, group_size, too_few_parts
from .row_slices import no_row_slices, no_whole_rows

NAME = "tflgpu.normalization"


def _axes(op: Op) -> tuple[int, ...]:
    return tuple(op.attrs["axes"])


def shape_normalized(op: Op) -> Shape:
    """The shape that the axes are those of."""
    return tuple(op.attrs.get("shape", op.operand(0).shape))


def reference(op: Op, values: Array) -> Array:
    x = values.astype(np.float64).reshape(shape_normalized(op))
    if op.attrs["centered"]:
        x = x - x.mean(_axes(op), keepdims=True)
    variance = np.square(x).mean(_axes(op), keepdims=True)
    return np.asarray(x / np.sqrt(variance + op.attrs["epsilon"]), np.float32)


def _reduced(op: Op) -> tuple[bool, ...]:
    """For batches, rows, columns and channels, whether the mean is over more than one of them."""
    shape = op.operand(0).shape
    first = 4 - len(shape)
    sizes = bhwc(shape)
    return tuple(sizes[axis] > 1 and axis - first in _axes(op) for axis in range(4))


def _whole_images(op: Op, target: Target) -> str | None:
    """The sliced kernel takes means over all pixels, over all channels, or over both."""
    shape = op.operand(0).shape
    if shape_normalized(op) != shape:
        return "it normalizes groups of channels"
    if len(shape) > 4:
        return f"rank {len(shape)} is above 4"
    _, rows, columns, _ = bhwc(shape)
    over_batches, over_rows, over_columns, _ = _reduced(op)
    if over_batches:
        return "the mean is over several batches"
    if rows > 1 and columns > 1 and over_rows != over_columns:
        return "the mean is over rows or columns but not both"
    if not flattens(op):
        return "its epilogue needs height and width as separate axes"
    return None


def _lines(op: Op) -> Lines:
    variables = {
        **{name: op.attrs[name] for name in ("centered", "epsilon")},
        "count": float(prod(shape_normalized(op)[axis] for axis in _axes(op))),
        **{"sum": SUM, "squares": SQUARES},
    }
    flops = (7 if op.attrs["centered"] else 4) * op.output.elements
    return Lines(op, "reduce/normalization.jinja", variables, flops, within=shape_normalized(op))


def _sliced(op: Op, target: Target) -> Launch:
    """A mean over pixels is a work-group reduction; one over channels alone is, of few pixels."""
    batch, rows, columns, channels = bhwc(op.output.shape)
    pixels, slices = rows * columns, slice_count(channels, target)
    over_pixels, over_channels = any(_reduced(op)[1:3]), _reduced(op)[3]
    axes = {*((1, 2) if over_pixels else ()), *((3,) if over_channels else ())}
    team = 0
    if over_pixels:
        team = group_size(pixels, target)
    elif over_channels and too_few_parts(slices, batch * pixels, target) is None:
        team = group_size(slices, target)
    return _lines(op).by_slices(target, axes, team=team, flatten=True)


def _long_rows(op: Op, target: Target) -> str | None:
    if not axes_of_rows(shape_normalized(op), _axes(op), target):
        return "the mean is not over rows of whole slices"
    if shape_normalized(op) != op.output.shape:
        return no_whole_rows(op, target, op.epilogue_inputs, op.operand(0))
    return no_row_slices(op, target, op.epilogue_inputs, op.operand(0))


def _rows(op: Op, target: Target) -> Launch:
    return _lines(op).by_rows(axes_of_rows(shape_normalized(op), _axes(op), target))


MOST_SLICES = 8
"""How many slices of groups a work-item takes, at most: it holds their sums."""

MOST_ROWS = 32
"""How many pixels are a block, at most: their squared distances from the first of them are at most
as many times the variance, so that few of its digits cancel."""


def _sizes(op: Op) -> tuple[int, int, int, int] | None:
    """Batches, pixels, groups, and the channels of each; None if it is not over such groups."""
    shape, reduced = shape_normalized(op), _axes(op)
    kept = [axis for axis, size in enumerate(shape) if size > 1 and axis not in reduced]
    groups = len(shape) - 2
    if kept not in ([groups], [0, groups]) or groups < 2:
        return None
    batches = shape[0] if 0 in kept else 1
    return batches, prod(shape[:groups]) // batches, shape[groups], shape[-1]


def _few_channels(op: Op, target: Target) -> str | None:
    sizes = _sizes(op)
    if sizes is None:
        return "the mean is not over pixels and groups of channels"
    if not op.attrs["centered"]:
        return "no mean is subtracted"
    *_, groups, size = sizes
    together = lcm(size, target.lanes)
    if groups * size % together or together > MOST_SLICES * target.lanes:
        return f"groups of {size} of {groups * size} channels do not fill few whole slices"
    return no_whole_rows(op, target, op.epilogue_inputs, op.operand(0))


def _groups(op: Op, target: Target) -> Launch:
    """A work-item takes the groups that fill whole slices together."""
    sizes = _sizes(op)
    assert sizes is not None
    batches, pixels, groups, size = sizes
    together = lcm(size, target.lanes)
    parts = groups * size // together
    lines = _lines(op)
    return Launch.of(
        op,
        "reduce/normalization_groups.jinja",
        linear_grid(batches * parts),
        variables={
            **lines.variables,
            "items": batches * parts,
            "parts": parts,
            "pixels": pixels,
            "rows": max(rows for rows in range(1, MOST_ROWS + 1) if pixels % rows == 0),
            "columns": groups * size,
            "slices": together // target.lanes,
            "size": size,
        },
        heavy=True,
        flops=lines.flops,
    )


IMPLEMENTATIONS = (
    Implementation("normalization", _sliced, _whole_images),
    row_major("normalization_rows", _rows, _long_rows),
    row_major("normalization_groups", _groups, _few_channels),
    row_major("normalization_linear", lambda op, _: _lines(op).by_elements(_axes(op))),
)

define(NAME, same_as_first, IMPLEMENTATIONS, reference)
