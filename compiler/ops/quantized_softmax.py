"""tflgpu.softmax_integers: softmax over the channels of centered integers, by a table of powers.

LiteRT adds up powers from a table, one after the other in float32, so a work-item goes along a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..ir import Op
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
    same_as_first,
)

NAME = "tflgpu.softmax_integers"


def _build(op: Op, target: Target) -> Sequence[Launch]:
    *outer, count = op.output.shape
    factor = np.float32(op.attrs["factor"])
    powers = np.exp(-factor * np.arange(256, dtype=np.float32)).astype(np.float32)
    names = ("scale", "half_up", "zero", "low", "high")
    return [
        Launch(
            "reduce/softmax_integers.jinja",
            linear_grid(prod(outer)),
            {"x": op.operand(0)},
            {"y": op.output},
            {"powers": powers},
            {"count": count, "rows": prod(outer), **{name: op.attrs[name] for name in names}},
            flops=5 * op.output.elements,
        )
    ]


define(
    OpDef(
        NAME,
        same_as_first,
        (Implementation("softmax_integers", _build, reads=LINEAR, writes=LINEAR),),
        traits=Traits(range=by_attributes),
    )
)
