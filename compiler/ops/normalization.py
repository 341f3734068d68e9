"""tflgpu.normalization: values minus their mean, divided by their deviation over some axes.

    y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon)      with `centered` True
    y = x / sqrt(mean(x^2) + epsilon)                              with `centered` False

Over the last axis this is layer normalization (arXiv 1607.06450) or, not centered, RMS
normalization (arXiv 1910.07467); over rows and columns, instance normalization (arXiv 1607.08022).
Gain and offset remain separate operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..ir import Array, Op
from ..target import Target
from .base import (
    LINEAR,
    Implementation,
    Launch,
    OpDef,
    bhwc,
    define,
    linear_grid,
    same_as_first,
    slice_count,
)
from .elementwise import flattens
from .row_slices import no_long_rows
from .work_group_reduction import group_size, too_few_parts

NAME = "tflgpu.normalization"


def _axes(op: Op) -> tuple[int, ...]:
    return tuple(op.attrs["axes"])


def reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    x = arrays[0].astype(np.float64)
    if op.attrs["centered"]:
        x = x - x.mean(_axes(op), keepdims=True)
    variance = np.square(x).mean(_axes(op), keepdims=True)
    return [(x / np.sqrt(variance + op.attrs["epsilon"])).astype(np.float32)]


def _reduced(op: Op) -> tuple[bool, ...]:
    """For batches, rows, columns and channels, whether the mean is over more than one of them."""
    shape = op.operand(0).shape
    first = 4 - len(shape)
    sizes = bhwc(shape)
    return tuple(sizes[axis] > 1 and axis - first in _axes(op) for axis in range(4))


def _whole_images(op: Op, target: Target) -> str | None:
    """The sliced kernel takes means over all pixels, over all channels, or over both."""
    shape = op.operand(0).shape
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


def _variables(op: Op) -> dict[str, object]:
    return {
        "centered": op.attrs["centered"],
        "epsilon": op.attrs["epsilon"],
        "count": float(prod(op.operand(0).shape[axis] for axis in _axes(op))),
    }


def _flops(op: Op) -> int:
    return (7 if op.attrs["centered"] else 4) * op.output.elements


def _sliced(op: Op, target: Target) -> Sequence[Launch]:
    """A mean over pixels is a work-group reduction; one over channels alone is, of few pixels."""
    batch, rows, columns, channels = bhwc(op.output.shape)
    over_pixels = any(_reduced(op)[1:3])
    over_channels = _reduced(op)[3]
    slices, pixels = slice_count(channels, target), rows * columns
    outer = batch * (1 if over_channels else slices)
    share_slices = (
        over_channels and not over_pixels and too_few_parts(slices, batch * pixels, target) is None
    )
    grouped = over_pixels or share_slices
    items = group_size(slices if share_slices else pixels, target) if grouped else 1
    columns, rows = (pixels, 1) if not grouped else (items, pixels if share_slices else 1)
    return [
        Launch(
            "reduce/normalization.jinja",
            (columns, rows, outer),
            {"x": op.operand(0)},
            {"y": op.output},
            variables={
                **_variables(op),
                "over_pixels": over_pixels,
                "over_channels": over_channels,
                "share_slices": share_slices,
                "team": items,
            },
            group=(items, 1, 1) if grouped else None,
            flatten=True,
            flops=_flops(op),
        )
    ]


def _linear(op: Op, target: Target) -> Sequence[Launch]:
    """One work-item per mean, over any axes of a tensor of any rank."""
    shape = op.operand(0).shape
    kept = prod(size for axis, size in enumerate(shape) if axis not in _axes(op))
    return [
        Launch(
            "reduce/normalization_linear.jinja",
            linear_grid(kept),
            {"x": op.operand(0)},
            {"y": op.output},
            variables={**_variables(op), "shape": shape, "reduced": set(_axes(op)), "kept": kept},
            flops=_flops(op),
        )
    ]


def _long_rows(op: Op, target: Target) -> str | None:
    if _axes(op) != (len(op.output.shape) - 1,):
        return "the mean is not over rows"
    return no_long_rows(op, target)


def _rows(op: Op, target: Target) -> Sequence[Launch]:
    *outer, columns = op.output.shape
    return [
        Launch(
            "reduce/normalization_rows.jinja",
            linear_grid(prod(outer)),
            {"x": op.operand(0)},
            {"y": op.output},
            variables={**_variables(op), "rows": prod(outer), "columns": columns},
            flops=_flops(op),
        )
    ]


IMPLEMENTATIONS = (
    Implementation("normalization", _sliced, _whole_images),
    Implementation("normalization_rows", _rows, _long_rows, reads=LINEAR, writes=LINEAR),
    Implementation("normalization_linear", _linear, reads=LINEAR, writes=LINEAR),
)

define(OpDef(NAME, same_as_first, IMPLEMENTATIONS, reference))
