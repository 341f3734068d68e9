"""tflgpu.normalize_integers: layer normalization of rows of 16-bit integers, as in LiteRT's LSTM.

    m = sum(x) * 1024 / count               v = sum(x^2) / count - m^2
    n = (1024 * x - m) / sqrt(v)
    y = (n * weights + bias) / 1024 * multiplier * 2^(exponent - 31)

Every step is one of fixed-point integers; 1 / sqrt(v) has 31 bits. Rows are the last axis of x; the
weights and the bias are constants, with an element for each column.
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

NAME = "tflgpu.normalize_integers"

MOST_COLUMNS = 65535
"""The longest row whose sums fit in 32 bits."""


def _build(op: Op, target: Target) -> Sequence[Launch]:
    *outer, count = op.output.shape
    weights, bias = op.constant(1), op.constant(2)
    constants = {"factors": weights, "upper": bias >> 16, "lower": bias & 0xFFFF}
    variables = {
        "count": count,
        "rows": prod(outer),
        "least": op.attrs["least_variance"],
        "multiplier": op.attrs["multiplier"],
        "step": op.attrs["exponent"],
    }
    return [
        Launch(
            "reduce/normalize_integers.jinja",
            linear_grid(prod(outer)),
            {"x": op.operand(0)},
            {"y": op.output},
            {name: array.astype(np.float32) for name, array in constants.items()},
            variables,
            flops=12 * op.output.elements,
        )
    ]


define(
    OpDef(
        NAME,
        same_as_first,
        (Implementation("normalize_integers", _build, reads=LINEAR, writes=LINEAR),),
        traits=Traits(range=by_attributes),
    )
)
