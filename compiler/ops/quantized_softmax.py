"""tflgpu.softmax_integers: softmax over the channels of centered integers, by a table of powers.

LiteRT adds up powers from a table, one after the other in float32, so a work-item goes along a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..ir import Array, Op
from ..target import Target
from .base import (
    LINEAR,
    Grid,
    Implementation,
    Launch,
    OpDef,
    Traits,
    bhwc,
    by_attributes,
    define,
    linear_grid,
    same_as_first,
)
from .elementwise import rank_fits

NAME = "tflgpu.softmax_integers"


def powers_below(factor: np.float32 | Array) -> Array:
    """exp(-factor * distance) for the distances from 0 to 255, float32.

    Rounded from float64, as numpy's exp of float32 is not always the nearest, which that of C is.
    """
    exponents = -factor * np.arange(256, dtype=np.float32)
    return np.exp(exponents.astype(np.float64)).astype(np.float32)


def _launch(op: Op, template: str, grid: Grid) -> Launch:
    *outer, count = op.output.shape
    names = ("scale", "low", "high")
    return Launch(
        template,
        grid,
        {"x": op.operand(0)},
        {"y": op.output},
        {"powers": powers_below(np.float32(op.attrs["factor"]))},
        {"count": count, "rows": prod(outer), **{name: op.attrs[name] for name in names}},
        flops=5 * op.output.elements,
    )


def _linear(op: Op, target: Target) -> Sequence[Launch]:
    grid = linear_grid(prod(op.output.shape[:-1]))
    return [_launch(op, "reduce/softmax_integers.jinja", grid)]


def _sliced(op: Op, target: Target) -> Sequence[Launch]:
    batch, height, width, _ = bhwc(op.output.shape)
    return [_launch(op, "reduce/softmax_integers_sliced.jinja", (width, height, batch))]


define(
    OpDef(
        NAME,
        same_as_first,
        (
            Implementation("softmax_integers_sliced", _sliced, rank_fits),
            Implementation("softmax_integers_sliced", _sliced, rank_fits, reads=LINEAR),
            Implementation("softmax_integers", _linear, reads=LINEAR, writes=LINEAR),
        ),
        traits=Traits(range=by_attributes),
    )
)
