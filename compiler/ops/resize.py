"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR, with aligned corners or half-pixel centers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import PurePosixPath

import numpy as np

from ..errors import ModelError
from ..ir import Op, Shape
from ..target import Target
from .base import (
    Implementation,
    Launch,
    OpDef,
    Traits,
    always,
    among_operands,
    define,
    image_launch,
)


@dataclass(frozen=True)
class Scale:
    """Maps an output coordinate to the input: (coordinate + shift) * factor - offset."""

    factor: float
    shift: float
    offset: float


def infer(op: Op) -> list[Shape]:
    image = op.operand(0).shape
    size = op.constant(1).reshape(-1)
    if len(image) != 4 or not prod(image[1:3]) or len(size) != 2 or (size < 1).any():
        raise ModelError(
            f"operator {op.index} {op.name}: cannot resize {list(image)} to {size.tolist()}"
        )
    return [(image[0], int(size[0]), int(size[1]), image[3])]


def _scale(op: Op, axis: int, offset: float) -> Scale:
    source, target = op.operand(0).shape[axis], op.output.shape[axis]
    if op.attrs.get("align_corners", False) and target > 1:
        factor = float(np.float32(source - 1) / np.float32(target - 1))
    else:
        factor = float(np.float32(source) / np.float32(target))
    half = op.attrs.get("half_pixel_centers", False)
    return Scale(factor, 0.5 if half else 0.0, offset if half else 0.0)


def _kernel(template: str, offset: float) -> Implementation:
    def build(op: Op, target: Target) -> Sequence[Launch]:
        variables = {
            "rows": _scale(op, 1, offset),
            "columns": _scale(op, 2, offset),
            "corners": bool(op.attrs.get("align_corners", False)),
        }
        return [image_launch(op, target, template, variables, 8 * op.output.elements)]

    return Implementation(PurePosixPath(template).stem, build)


define(
    OpDef(
        "RESIZE_BILINEAR",
        infer,
        (_kernel("resize/resize_bilinear.jinja", 0.5),),
        versions=4,
        traits=Traits(always),
    ),
    OpDef(
        "RESIZE_NEAREST_NEIGHBOR",
        infer,
        (_kernel("resize/resize_nearest.jinja", 0.0),),
        versions=4,
        traits=Traits(always, range=among_operands),
    ),
)
