"""DYNAMIC_UPDATE_SLICE: a tensor with a part replaced, at coordinates computed by the model.

tflgpu.update is the same in the tensor's own memory, of which it writes that part alone.
"""

from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import define, row_major
from ..base.launch import Launch, linear_grid, linear_launch
from ..base.storage import ANY, SLICED, bhwc, kernel_dtype
from ..base.traits import Traits

IN_PLACE = "tflgpu.update"


def _infer(op: Op) -> list[Shape]:
    whole, part, starts = (op.operand(i).shape for i in range(3))
    fits = len(whole) == len(part) and all(p <= w for p, w in zip(part, whole, strict=True))
    if not fits or starts != (len(whole),):
        raise op.invalid(
            f"the update {list(part)} does not fit {list(whole)}, or the start indices "
            f"{list(starts)} do not have one entry per axis"
        )
    return [whole]


def _build(op: Op, target: Target) -> Launch:
    return linear_launch(
        op,
        "move/update.jinja",
        reads={"x": op.operand(0), "part": op.operand(1), "starts": op.operand(2)},
    )


def _build_in_place(op: Op, target: Target) -> Launch:
    return _launch_in_place(op, op.operand(1).shape, op.output.shape)


def _build_rows_in_place(op: Op, target: Target) -> Launch:
    def in_slices(shape: Shape) -> Shape:
        *pixels, channels = bhwc(shape)
        return (*pixels, channels // target.lanes)

    launch = _launch_in_place(op, in_slices(op.operand(1).shape), in_slices(op.output.shape))
    variables = {**launch.variables, "in_rows": True}
    return replace(launch, variables=variables, variant="_rows", whole_slices=("part",))


def _launch_in_place(op: Op, cells: Shape, whole: Shape) -> Launch:
    """A work-item for each of `cells`, of which the tensor has `whole`."""
    part, starts = op.operand(1), op.operand(2)
    return Launch.of(
        op,
        "move/update_in_place.jinja",
        linear_grid(prod(cells)),
        reads={"part": part, "starts": starts},
        variables={
            "cells": cells,
            "whole": whole,
            "leading": len(cells) - len(part.shape),
            "in_rows": False,
        },
    )


def no_rows(op: Op, target: Target) -> str | None:
    """Why slices of the part's rows cannot be written; None if they can."""
    whole, part = op.operand(0).shape, op.operand(1).shape
    if len(whole) not in range(1, 5) or kernel_dtype(op.output.dtype) != "float32":
        return "only rows of floats up to rank 4 are slices"
    if whole[-1] != part[-1] or whole[-1] % target.lanes:
        return "the update does not consist of whole rows of whole slices"
    return None


def _no_halves(op: Op, target: Target) -> str | None:
    return "two halves may share a word" if op.output.halved else None


def _reference(op: Op, whole: Array, part: Array, starts: Array) -> Array:
    """Starts are clamped so that the part lies inside the tensor."""
    result = whole.copy()
    sizes = zip(starts, whole.shape, part.shape, strict=True)
    firsts = [int(np.clip(start, 0, size - taken)) for start, size, taken in sizes]
    spans = zip(firsts, part.shape, strict=True)
    result[tuple(slice(first, first + taken) for first, taken in spans)] = part
    return result


_in_place = partial(row_major, fuses=False, updates=True)

define(
    "DYNAMIC_UPDATE_SLICE x:T update:T start:integer -> y:T",
    _infer,
    (row_major("update", _build),),
    _reference,
    ANY,
    versions=6,
    traits=Traits(identity=lambda op: not op.operand(1).elements),
)
define(
    IN_PLACE,
    _infer,
    (
        _in_place("update_in_place_rows", _build_rows_in_place, no_rows, computes=SLICED),
        _in_place("update_in_place", _build_in_place, _no_halves),
    ),
    None,
    ANY,
)
