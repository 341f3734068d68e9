"""Resampler: MediaPipe's custom operator that reads a picture at places which are computed.

x [batch, height, width, channels] is read between its pixels at warp [batch, rows, columns, 2],
whose last axis holds a column and a row of x; what lies outside x counts as 0.
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
            f"operator {op.index} {op.name}: a picture {list(image)} at places {list(warp)}"
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
