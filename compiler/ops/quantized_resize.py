"""tflgpu.resize_bilinear_integers: bilinear resize of integers with weights of 11 fractional bits.

Which pixels an output lies between, and the weights, are computed here in float32, as XNNPACK does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op
from ..target import Target
from .base import (
    Implementation,
    Launch,
    OpDef,
    Traits,
    among_operands,
    define,
    sliced_grid,
)
from .resize import infer

NAME = "tflgpu.resize_bilinear_integers"

FRACTION = 11
"""Fractional bits of the weights."""


def _places(op: Op, axis: int) -> Array:
    """For each row or column of the output: the two of the input, and the weight of the second."""
    source, count = op.operand(0).shape[axis], op.output.shape[axis]
    corners = bool(op.attrs.get("align_corners", False)) and count != 1
    scale = np.float32(source - corners) / np.float32(count - corners)
    at = np.arange(count, dtype=np.float32) * scale
    if op.attrs.get("half_pixel_centers", False) and not corners:
        at = at + (np.float32(0.5) * scale - np.float32(0.5))
    at = np.clip(at, 0, source - 1).astype(np.float32)
    first = np.floor(at)
    weights = np.rint((at - first) * np.float32(1 << FRACTION))
    return np.stack([first, np.minimum(first + 1, source - 1), weights], 1).astype(np.float32)


def _build(op: Op, target: Target) -> Sequence[Launch]:
    tables = {"rows": _places(op, 1), "columns": _places(op, 2)}
    constants = {
        name: np.resize(np.append(table, 0), (-(-table.size // target.lanes), target.lanes))
        for name, table in tables.items()
    }
    return [
        Launch(
            "resize/resize_bilinear_integers.jinja",
            sliced_grid(op.output.shape, target),
            {"x": op.operand(0)},
            {"y": op.output},
            constants,
            {"fraction": FRACTION},
            flops=8 * op.output.elements,
        )
    ]


define(
    OpDef(
        *(NAME, infer, (Implementation("resize_bilinear_integers", _build),)),
        traits=Traits(range=among_operands),
    )
)
