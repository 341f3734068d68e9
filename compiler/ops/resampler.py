"""Resampler: MediaPipe's custom operator that samples an image at computed coordinates.

x [batch, height, width, channels] is interpolated bilinearly at the coordinates in warp
[batch, rows, columns, 2], whose last axis is (column, row). Pixels outside x are 0.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ModelError
from ..ir import Op, Shape
from ..target import Target
from .base import LINEAR, Implementation, Launch, OpDef, define, linear_grid


def _infer(op: Op) -> list[Shape]:
    image, warp = op.operand(0).shape, op.operand(1).shape
    if len(image) != 4 or len(warp) != 4 or image[0] != warp[0] or warp[3] < 2:
        raise ModelError(
            f"operator {op.index} {op.name}: the image {list(image)} and the coordinates "
            f"{list(warp)} must have rank 4, the same batch, and 2 values per coordinate"
        )
    return [(*warp[:3], image[3])]


def _build(op: Op, target: Target) -> Sequence[Launch]:
    reads = {"x": op.operand(0), "warp": op.operand(1)}
    grid = linear_grid(op.output.elements)
    flops = 12 * op.output.elements
    return [Launch("resize/resampler.jinja", grid, reads, {"y": op.output}, flops=flops)]


define(
    OpDef("Resampler", _infer, (Implementation("resampler", _build, reads=LINEAR, writes=LINEAR),))
)
