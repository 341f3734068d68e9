"""tflgpu.average_pool_integers: averages of centered integers, rounded to the nearest, halves away.

LiteRT adds up the integers themselves, so the zero point counts: it decides which way halves go.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Op
from ..target import Target
from .base import (
    Implementation,
    Launch,
    OpDef,
    Traits,
    by_attributes,
    define,
    image_launch,
)
from .pool import infer, window

NAME = "tflgpu.average_pool_integers"


def _build(op: Op, target: Target) -> Sequence[Launch]:
    shape = window(op)
    variables = {"window": shape, **{key: op.attrs[key] for key in ("zero", "low", "high")}}
    flops = op.output.elements * shape.height * shape.width
    return [image_launch(op, target, "pool/average_pool_integers.jinja", variables, flops)]


define(
    OpDef(
        *(NAME, infer, (Implementation("average_pool_integers", _build),)),
        traits=Traits(range=by_attributes),
    )
)
