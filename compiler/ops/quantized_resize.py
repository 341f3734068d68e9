"""Bilinear resize of centered integers (BHWC, float32), in the two ways that LiteRT has.

`tflgpu.resize_bilinear_integers` is XNNPACK's, for 8 bits: weights of 11 fractional bits from
places in float32, rounded once with ties upwards. `tflgpu.resize_bilinear_fixed_point` is that of
LiteRT's own kernels, for 8 or 16 bits: weights of 10 fractional bits from places in integers,
rounded once with ties away from zero.

Tables made while compiling say which pixels an output lies between, and the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

import numpy as np

from ..ir import Array, Op
from ..target import Target
from .base import Implementation, Launch, Traits, among_operands, define, sliced_grid
from .resize import infer

NEAREST = "tflgpu.resize_bilinear_integers"
FIXED_POINT = "tflgpu.resize_bilinear_fixed_point"

FRACTIONS = {NEAREST: 11, FIXED_POINT: 10}
"""Fractional bits of the weights."""

Places = Callable[[Op, int], Array]
"""For each row or column of the output: the two of the input, and the weight of the second."""


def _places(op: Op, axis: int) -> Array:
    source, count = op.operand(0).shape[axis], op.output.shape[axis]
    corners = bool(op.attrs.get("align_corners", False)) and count != 1
    scale = np.float32(source - corners) / np.float32(count - corners)
    at = np.arange(count, dtype=np.float32) * scale
    if op.attrs.get("half_pixel_centers", False) and not corners:
        at = at + (np.float32(0.5) * scale - np.float32(0.5))
    at = np.clip(at, 0, source - 1).astype(np.float32)
    first = np.floor(at)
    weights = np.rint((at - first) * np.float32(1 << FRACTIONS[NEAREST]))
    return np.stack([first, np.minimum(first + 1, source - 1), weights], 1)


def _fixed_point_places(op: Op, axis: int) -> Array:
    source, count = op.operand(0).shape[axis], op.output.shape[axis]
    one = 1 << FRACTIONS[FIXED_POINT]
    corners = bool(op.attrs.get("align_corners", False)) and count > 1
    steps, source_steps = count - corners, source - corners
    scale = (one * source_steps + steps // 2) // steps
    at = np.arange(count, dtype=np.int64) * scale
    if op.attrs.get("half_pixel_centers", False):
        at = at + scale // 2 - one // 2
    first = np.maximum(np.trunc(at / one), 0)
    second = np.minimum(np.trunc((at + one - 1) / one), source - 1)
    return np.stack([first, second, at - one * first], 1)


def _implementation(template: str, places: Places) -> Implementation:
    def build(op: Op, target: Target) -> Launch:
        tables = {"rows": places(op, 1), "columns": places(op, 2)}
        constants = {
            name: np.resize(
                np.append(table, 0).astype(np.float32),
                (-(-table.size // target.lanes), target.lanes),
            )
            for name, table in tables.items()
        }
        return Launch.of(
            op,
            template,
            sliced_grid(op.output.shape, target),
            constants=constants,
            variables={"fraction": FRACTIONS[op.name]},
            flops=8 * op.output.elements,
        )

    return Implementation(PurePath(template).stem, build)


define(
    NEAREST,
    infer,
    (_implementation("resize/resize_bilinear_integers.jinja", _places),),
    traits=Traits(range=among_operands),
)
define(
    FIXED_POINT,
    infer,
    (_implementation("resize/resize_bilinear_fixed_point.jinja", _fixed_point_places),),
    traits=Traits(range=among_operands),
)
