"""tflgpu.product_of_integers: products over the last axis of centered integers, float32.

LiteRT scales what it has after each factor, so that it fits in 32 bits, and once more at the end:

    p = x[0]    p = p * x[i] * multiplier / 2^shift    y = p * multiplier / 2^shift

All are rounded to integers, halves upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..ir import Op, Shape
from ..target import Target
from .base import (
    LINEAR,
    Implementation,
    Launch,
    OpDef,
    Traits,
    by_attributes,
    define,
    linear_grid,
)

NAME = "tflgpu.product_of_integers"


def _infer(op: Op) -> list[Shape]:
    return [op.operand(0).shape[:-1]]


def _build(op: Op, target: Target) -> Sequence[Launch]:
    *outer, count = op.operand(0).shape
    names = ("multiplier", "shift", "low", "high")
    return [
        Launch(
            "reduce/product_of_integers.jinja",
            linear_grid(prod(outer)),
            {"x": op.operand(0)},
            {"y": op.output},
            variables={
                "count": count,
                "rows": prod(outer),
                **{name: op.attrs[name] for name in names},
            },
            flops=4 * op.operand(0).elements,
        )
    ]


define(
    OpDef(
        NAME,
        _infer,
        (Implementation("product_of_integers", _build, reads=LINEAR, writes=LINEAR),),
        traits=Traits(range=by_attributes),
    )
)
