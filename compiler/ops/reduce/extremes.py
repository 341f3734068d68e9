"""What floats are quantized by: made of the least and the greatest number along lines, or 0.

    s, z = tflgpu.row_scales(x)       a scale and a zero point
    s, i, z = tflgpu.row_steps(x)     a step, its inverse and a zero point
    l, m = tflgpu.extremes(x)         both numbers, of parts of lines that are too long for one

The results have the shape of x, with the attribute `axes` kept at size 1. A kernel reads a line
once; which of the numbers a NaN counts as is left to the device.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.images import flattens, rank_fits
from ..base.launch import Launch
from ..base.storage import bhwc, bhwc_axes, slice_count
from ..elementwise import numpy_functions
from ..elementwise.elementwise import Formula
from ..elementwise.rounding import range_scale, range_step, range_zero
from .lines import (
    LARGEST,
    SMALLEST,
    Lines,
    axes_of_rows,
    group_size,
    slice_group_size,
    too_few_parts,
)

EXTREMES = "tflgpu.extremes"
ROW_SCALES = "tflgpu.row_scales"
ROW_STEPS = "tflgpu.row_steps"

FOLDS = {"low": replace(SMALLEST, start=0.0), "high": replace(LARGEST, start=0.0)}

# The formulas of the results: of the least and the greatest number and of the results before.
FORMULAS: Mapping[str, Mapping[str, Formula]] = {
    EXTREMES: {"least": lambda f, low, high: low, "most": lambda f, low, high, least: high},
    ROW_SCALES: {"scale": range_scale, "zero_point": range_zero},
    ROW_STEPS: {
        "step": range_step,
        "inverse": lambda f, low, high, step: 1.0 / step,
        "zero_point": lambda f, low, high, step, inverse: range_zero(f, low, high, inverse),
    },
}


def infer(op: Op) -> list[Shape]:
    axes = op.attrs["axes"]
    shape = tuple(1 if axis in axes else n for axis, n in enumerate(op.operand(0).shape))
    return [shape] * len(FORMULAS[op.name])


def reference(op: Op, x: Array) -> Sequence[Array]:
    low, high = (f(x, op.attrs["axes"], keepdims=True, initial=0.0) for f in (np.min, np.max))
    results: list[Array] = []
    for formula in FORMULAS[op.name].values():
        results.append(np.asarray(formula(numpy_functions, low, high, *results)))
    return results


def _lines(op: Op) -> Lines:
    variables = {"folds": FOLDS, "formulas": FORMULAS[op.name]}
    return Lines(op, "reduce/extremes.jinja", variables, 2 * op.operand(0).elements)


def _written(launch: Launch, op: Op) -> Launch:
    return replace(launch, writes=dict(zip(("y", "second", "third"), op.outputs, strict=False)))


def _sliced(op: Op, target: Target) -> Launch:
    axes = bhwc_axes(op.operand(0).shape, op.attrs["axes"])
    flat = axes.isdisjoint({1, 2}) and flattens(op, [op.operand(0)])
    return _written(_lines(op).by_slices(target, axes, flatten=flat), op)


def _shared_lines(op: Op, target: Target) -> tuple[int, int] | None:
    """How many parts a line of a sliced tensor has, which work-items of a group share, and how many
    lines there are; None if they are neither images nor rows."""
    batch, height, width, channels = bhwc(op.operand(0).shape)
    axes = bhwc_axes(op.operand(0).shape, op.attrs["axes"])
    if axes == {3}:
        return slice_count(channels, target), batch * height * width
    return (height * width, batch) if axes == {1, 2, 3} else None


def _images_or_rows(op: Op, target: Target) -> str | None:
    """A work-group reduces an image or a row."""
    if (reason := rank_fits(op, target)) is not None:
        return reason
    shared = _shared_lines(op, target)
    return too_few_parts(*shared, target) if shared else "its lines are neither images nor rows"


def _grouped(op: Op, target: Target) -> Launch:
    axes, shared = bhwc_axes(op.operand(0).shape, op.attrs["axes"]), _shared_lines(op, target)
    assert shared is not None
    items = slice_group_size(shared[0], target)
    return _written(_lines(op).by_slices(target, axes, group_items=items), op)


def _elements(op: Op) -> int:
    """How many numbers a line has."""
    return prod(op.operand(0).shape[axis] for axis in op.attrs["axes"])


def _long_lines(op: Op, target: Target) -> str | None:
    return too_few_parts(_elements(op), op.output.elements, target)


def _grouped_elements(op: Op, target: Target) -> Launch:
    items = group_size(_elements(op), target)
    return _written(_lines(op).by_elements(op.attrs["axes"], group_items=items), op)


def _linear(op: Op, target: Target) -> Launch:
    axes, lines = op.attrs["axes"], _lines(op)
    rows = axes_of_rows(op.operand(0).shape, axes, target)
    return _written(lines.by_rows(rows) if rows else lines.by_elements(axes), op)


_IMPLEMENTATIONS = (
    Implementation("extremes_group", _grouped, _images_or_rows, fuses=False),
    Implementation("extremes", _sliced, rank_fits, fuses=False),
    row_major("extremes_group_linear", _grouped_elements, _long_lines, fuses=False),
    row_major("extremes_linear", _linear, fuses=False),
)

for _name in FORMULAS:
    define(_name, infer, _IMPLEMENTATIONS, reference)
