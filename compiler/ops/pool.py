"""AVERAGE_POOL_2D and MAX_POOL_2D. Averages count only the cells inside the image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from ..devices import Profile
from ..errors import ModelError
from ..ir import Op, Shape
from .base import Kernel, Launch, OpDef, define, image_launch
from .window import Window


def window(op: Op) -> Window:
    return Window.of(op, op.attrs.get("filter_height", 0), op.attrs.get("filter_width", 0))


def infer(op: Op) -> list[Shape]:
    image = op.operand(0).shape
    if len(image) != 4:
        raise ModelError(f"operator {op.index} {op.name}: input {list(image)} must have rank 4")
    rows, columns = window(op).output(op, *image[1:3])
    return [(image[0], rows, columns, image[3])]


def _kernel(template: str) -> Kernel:
    def build(op: Op, profile: Profile) -> Sequence[Launch]:
        shape = window(op)
        flops = op.output.elements * shape.height * shape.width
        return [image_launch(op, profile, template, {"window": shape}, flops)]

    return Kernel(PurePosixPath(template).stem, build)


define(
    OpDef("AVERAGE_POOL_2D", infer, (_kernel("pool/average_pool.jinja"),)),
    OpDef("MAX_POOL_2D", infer, (_kernel("pool/max_pool.jinja"),)),
)
