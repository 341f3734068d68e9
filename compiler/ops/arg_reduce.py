"""ARG_MAX, ARG_MIN and TOPK_V2: positions of extreme values. Among equal values the first wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..errors import ModelError
from ..ir import Array, Op, Shape
from ..target import Target
from .base import (
    ANY,
    LINEAR,
    Implementation,
    Launch,
    OpDef,
    define,
    linear_grid,
    second_operand_axis,
)
from .elementwise import rank_fits

FEW_RATIO = 8
"""Values per kept value from which insertion is worthwhile."""
MAX_MOVES = 1 << 19
"""Moves that insertion may take in the worst case, which is a row in ascending order."""


def _infer_arg(op: Op) -> list[Shape]:
    shape, axis = op.operand(0).shape, second_operand_axis(op)
    if not shape[axis]:
        raise ModelError(f"operator {op.index} {op.name}: axis {axis} of {list(shape)} is empty")
    return [(*shape[:axis], *shape[axis + 1 :])]


def _over_channels(op: Op, target: Target) -> str | None:
    if second_operand_axis(op) != len(op.operand(0).shape) - 1:
        return "it is not over the channels"
    return rank_fits(op, target)


def _arg_of_slices(op: Op, target: Target) -> Sequence[Launch]:
    (launch,) = _arg(op, target)
    return [replace(launch, template="reduce/arg_reduce_sliced.jinja", flatten=True)]


def _arg(op: Op, target: Target) -> Sequence[Launch]:
    shape, axis = op.operand(0).shape, second_operand_axis(op)
    return [
        Launch(
            "reduce/arg_reduce.jinja",
            linear_grid(op.output.elements),
            {"x": op.operand(0)},
            {"y": op.output},
            variables={
                "size": shape[axis],
                "inner": prod(shape[axis + 1 :]),
                "better": ">" if op.name == "ARG_MAX" else "<",
            },
            flops=op.operand(0).elements,
        )
    ]


def _reference_arg(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    """As the kernel, also of NaN."""
    x, axis = arrays[0], second_operand_axis(op)
    extreme = np.fmax if op.name == "ARG_MAX" else np.fmin
    best = extreme.reduce(x, axis, keepdims=True)
    # NaN equals nothing: where there is nothing else, the first place.
    places = np.argmax(x == best, axis)
    return [places.astype(op.output.dtype)]


def _infer_top(op: Op) -> list[Shape]:
    shape, count = op.operand(0).shape, int(op.number(1))
    if not shape or not 0 <= count <= shape[-1]:
        raise ModelError(
            f"operator {op.index} {op.name}: cannot take {count} values along the last axis of "
            f"{list(shape)}"
        )
    return [(*shape[:-1], count)] * 2


def _top(op: Op, target: Target) -> Sequence[Launch]:
    shape = op.operand(0).shape
    values, places = op.outputs
    return [
        Launch(
            "sort/top.jinja",
            linear_grid(op.operand(0).elements),
            {"x": op.operand(0)},
            {"y": values, "places": places},
            variables={
                "size": shape[-1],
                "count": values.shape[-1],
                "falling": True,
                "nan_first": False,
            },
            flops=op.operand(0).elements * shape[-1],
        )
    ]


def _reference_top(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    values, count = arrays[0], int(arrays[1].reshape(-1)[0])
    falling = -values if values.dtype.kind == "f" else -values.astype(np.int64)
    places = np.argsort(falling, -1, kind="stable")[..., :count]
    return [np.take_along_axis(values, places, -1), places.astype(op.outputs[1].dtype)]


def inserts(size: int, count: int, target: Target) -> bool:
    """Whether one work-item can find the largest `count` of `size` values fast by insertion."""
    alone = target.on_processor
    return alone and 0 < count <= size // FEW_RATIO and size * count <= MAX_MOVES


def _few_are_kept(op: Op, target: Target) -> str | None:
    size, count = op.operand(0).shape[-1], op.output.shape[-1]
    return None if inserts(size, count, target) else f"inserting {count} of {size} values is slow"


def _insert(op: Op, target: Target) -> Sequence[Launch]:
    (launch,) = _top(op, target)
    rows = op.output.elements // op.output.shape[-1]
    grid, flops = (rows, 1, 1), op.operand(0).elements
    template = "sort/top_insertion.jinja"
    return [replace(launch, template=template, grid=grid, flops=flops, heavy=True)]


_NAN = "NaN is never found; in LiteRT it is at times, if it comes first along a short last axis"

_ARG = (
    Implementation("arg_reduce", _arg, reads=LINEAR, writes=LINEAR),
    Implementation("arg_reduce_sliced", _arg_of_slices, _over_channels, writes=LINEAR),
)
_TOP = (
    Implementation(
        "top_insertion", _insert, _few_are_kept, reads=LINEAR, writes=LINEAR, fuses=False
    ),
    Implementation("top", _top, reads=LINEAR, writes=LINEAR, fuses=False),
)

define(
    OpDef("ARG_MAX", _infer_arg, _ARG, _reference_arg, ANY, _NAN, versions=3),
    OpDef("ARG_MIN", _infer_arg, _ARG, _reference_arg, ANY, _NAN, versions=3),
    OpDef(
        "TOPK_V2",
        _infer_top,
        _TOP,
        _reference_top,
        ANY,
        note="k must be a constant",
        versions=3,
    ),
)
