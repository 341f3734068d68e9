"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR, with aligned corners or half-pixel centers.

Resampler is MediaPipe's custom operator that samples an image at computed coordinates: x [batch,
height, width, channels] is interpolated bilinearly at the coordinates in warp [batch, rows,
columns, 2], whose last axis is (column, row). Pixels outside x are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from ..ir import Op, Shape
from ..target import Target
from .base import (
    Implementation,
    Launch,
    Traits,
    always,
    among_operands,
    define,
    image_launch,
    linear_launch,
    row_major,
)
from .row_slices import no_long_rows


@dataclass(frozen=True)
class Scale:
    """Maps an output coordinate to the input: (coordinate + shift) * factor - offset."""

    factor: float
    shift: float
    offset: float


def infer(op: Op) -> list[Shape]:
    image = op.operand(0).shape
    size = op.integers(1)
    if len(image) != 4 or not prod(image[1:3]) or len(size) != 2 or min(size) < 1:
        raise op.invalid(f"cannot resize {list(image)} to {size}")
    return [(image[0], *size, image[3])]


def _scale(op: Op, axis: int, offset: float) -> Scale:
    source, target = op.operand(0).shape[axis], op.output.shape[axis]
    if op.attrs.get("align_corners", False) and target > 1:
        factor = float(np.float32(source - 1) / np.float32(target - 1))
    else:
        factor = float(np.float32(source) / np.float32(target))
    half = op.attrs.get("half_pixel_centers", False)
    return Scale(factor, 0.5 if half else 0.0, offset if half else 0.0)


def _kernel(template: str, offset: float) -> Implementation:
    def build(op: Op, target: Target) -> Launch:
        return image_launch(op, target, template, _scales(op, offset), 8 * op.output.elements)

    return Implementation(PurePosixPath(template).stem, build)


def _scales(op: Op, offset: float) -> dict[str, Any]:
    return {
        "rows": _scale(op, 1, offset),
        "columns": _scale(op, 2, offset),
        "corners": bool(op.attrs.get("align_corners", False)),
    }


def _bilinear_rows(op: Op, target: Target) -> Launch:
    batch, height, width, _ = op.output.shape
    return Launch.of(
        op,
        "resize/resize_bilinear_rows.jinja",
        (width, height, batch),
        variables=_scales(op, 0.5),
        flops=8 * op.output.elements,
    )


def _long_pixels(op: Op, target: Target) -> str | None:
    return no_long_rows(op, target, op.epilogue_inputs, op.operand(0))


def _infer_resampler(op: Op) -> list[Shape]:
    image, warp = op.operand(0).shape, op.operand(1).shape
    if len(image) != 4 or len(warp) != 4 or image[0] != warp[0] or warp[3] < 2:
        raise op.invalid(
            f"the image {list(image)} and the coordinates {list(warp)} must have rank 4, the same "
            f"batch, and 2 values per coordinate"
        )
    return [(*warp[:3], image[3])]


def _build_resampler(op: Op, target: Target) -> Launch:
    reads = {"x": op.operand(0), "warp": op.operand(1)}
    return linear_launch(op, "resize/resampler.jinja", reads=reads, flops=12 * op.output.elements)


define(
    "RESIZE_BILINEAR x:T sizes:integer -> y:T",
    infer,
    (
        _kernel("resize/resize_bilinear.jinja", 0.5),
        row_major("resize_bilinear_rows", _bilinear_rows, _long_pixels),
    ),
    versions=4,
    traits=Traits(always),
)
define(
    "RESIZE_NEAREST_NEIGHBOR x:T sizes:integer -> y:T",
    infer,
    (_kernel("resize/resize_nearest.jinja", 0.0),),
    versions=4,
    traits=Traits(always, range=among_operands),
)
define(
    "Resampler image coordinates -> y",
    _infer_resampler,
    (row_major("resampler", _build_resampler),),
)
