"""tflgpu.add_alpha: pixels of three channels with a fourth that is 255, opaque.

y = tflgpu.add_alpha(x)     [batch, height, width, 3] to [batch, height, width, 4]
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Op, Shape
from ..target import Target
from .base import Implementation, Launch, OpDef, define, image_launch

ADD_ALPHA = "tflgpu.add_alpha"


def _infer(op: Op) -> list[Shape]:
    return [(*op.operand(0).shape[:-1], 4)]


def _build(op: Op, target: Target) -> Sequence[Launch]:
    return [image_launch(op, target, "picture/add_alpha.jinja", {})]


define(OpDef(ADD_ALPHA, _infer, (Implementation("add_alpha", _build),)))
