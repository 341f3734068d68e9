"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR, with aligned corners or half-pixel centers.

Bilinear resize of centered integers has the two ways of LiteRT: `tflgpu.resize_bilinear_integers`
is XNNPACK's, for 8 bits, with weights of 11 fractional bits from places in float32, rounded once
with ties upwards. `tflgpu.resize_bilinear_fixed_point` is that of LiteRT's own kernels, for 8 or 16
bits, with weights of 10 fractional bits from places in integers, rounded once with ties away from
zero. Tables made while compiling say which pixels an output lies between, and the weights.

Resampler is MediaPipe's custom operator that samples an image at computed coordinates: x [batch,
height, width, channels] is interpolated bilinearly at the coordinates in warp [batch, rows,
columns, 2], whose last axis is (column, row). Pixels outside x are 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from pathlib import PurePath
from typing import Any

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Implementation, define, row_major
from ..base.launch import Launch, image_launch, linear_launch, sliced_grid
from ..base.row_slices import no_long_rows, no_row_slices
from ..base.storage import slice_count
from ..base.traits import Traits, always, among_operands

ROWS_EACH = 16  # How many rows of the result a work-item computes of an image of one channel.

# How many channels are resized one by one, at most: of more a slice is not filled, but as fast.
FEW_CHANNELS = 4


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


def _bilinear(op: Op, target: Target) -> Launch:
    template, flops = "resize/resize_bilinear.jinja", 8 * op.output.elements
    return image_launch(op, target, template, _scales(op, 0.5), flops)


def _nearest(op: Op, target: Target) -> Launch:
    ratios = {"row_ratio": _ratio(op, 1), "column_ratio": _ratio(op, 2)}
    variables = {**_scales(op, 0.0), **ratios}
    return image_launch(op, target, "resize/resize_nearest.jinja", variables)


def _ratio(op: Op, axis: int) -> Fraction | None:
    """What an output coordinate times, rounded down, is the input's; None if LiteRT's differs."""
    source, count = op.operand(0).shape[axis], op.output.shape[axis]
    ratio, scale = Fraction(source, count), _scale(op, axis, 0.0)
    outputs = np.arange(count, dtype=np.float32)
    places = (outputs + np.float32(scale.shift)) * np.float32(scale.factor)
    rounding = np.float32(0.5 if op.attrs.get("align_corners", False) else 0)
    exact = np.arange(count) * ratio.numerator // ratio.denominator
    return ratio if np.array_equal(np.floor(places + rounding), exact) else None


def _scales(op: Op, offset: float) -> dict[str, Any]:
    return {
        "rows": _scale(op, 1, offset),
        "columns": _scale(op, 2, offset),
        "corners": bool(op.attrs.get("align_corners", False)),
    }


def _bilinear_rows(op: Op, target: Target) -> Launch:
    return _of_rows(op, "resize/resize_bilinear_rows.jinja")


def _bilinear_pixels(op: Op, target: Target) -> Launch:
    return _of_rows(op, "resize/resize_bilinear_pixels.jinja")


def _of_rows(op: Op, template: str) -> Launch:
    """A launch with a work-item for each pixel of row-major images."""
    batch, height, width, _ = op.output.shape
    variables, flops = _scales(op, 0.5), 8 * op.output.elements
    return Launch.of(op, template, (width, height, batch), variables=variables, flops=flops)


def _bilinear_planes(op: Op, target: Target) -> Launch:
    launch = _of_rows(op, "resize/resize_bilinear_planes.jinja")
    width, height, batch = launch.grid
    return replace(
        launch,
        grid=(slice_count(width, target), -(-height // ROWS_EACH), batch),
        variables={**launch.variables, "rows_each": ROWS_EACH},
    )


def _one_channel(op: Op, target: Target) -> str | None:
    _, _, width, channels = op.output.shape
    if channels > 1 or width < target.lanes:
        return f"rows of {width} pixels with {channels} channels are no slices of one channel"
    return no_row_slices(op, target, op.epilogue_inputs, op.operand(0))


def _few_channels(op: Op, target: Target) -> str | None:
    channels = op.output.shape[3]
    if not 1 < channels <= min(FEW_CHANNELS, target.lanes - 1):
        return f"it does not have 2 to {FEW_CHANNELS} channels, fewer than lanes"
    return no_row_slices(op, target, (), op.operand(0))


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
        Implementation("resize_bilinear", _bilinear),
        row_major("resize_bilinear_rows", _bilinear_rows, _long_pixels),
        row_major("resize_bilinear_planes", _bilinear_planes, _one_channel),
        row_major("resize_bilinear_pixels", _bilinear_pixels, _few_channels),
    ),
    versions=4,
    traits=Traits(always),
)
define(
    "RESIZE_NEAREST_NEIGHBOR x:T sizes:integer -> y:T",
    infer,
    (Implementation("resize_nearest", _nearest),),
    versions=4,
    traits=Traits(always, range=among_operands),
)
define(
    "Resampler image coordinates -> y",
    _infer_resampler,
    (row_major("resampler", _build_resampler),),
)

NEAREST = "tflgpu.resize_bilinear_integers"
FIXED_POINT = "tflgpu.resize_bilinear_fixed_point"

FRACTIONS = {NEAREST: 11, FIXED_POINT: 10}  # Fractional bits of the weights.

# For each row or column of the output: the two of the input, and the weight of the second.
Places = Callable[[Op, int], Array]


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
