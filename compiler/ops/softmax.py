"""SOFTMAX over the last axis, of beta times the input."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..devices import Profile
from ..errors import ModelError
from ..ir import Array, Op, Shape
from .base import LINEAR, Kernel, Launch, OpDef, bhwc, define, linear_grid
from .elementwise import rank_fits


def infer(op: Op) -> list[Shape]:
    shape = op.operand(0).shape
    if not shape:
        raise ModelError(f"operator {op.index} {op.name}: a scalar has no axis to normalize")
    return [shape]


def reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    x = arrays[0] * op.attrs.get("beta", 1.0)
    powers = np.exp(x - x.max(-1, keepdims=True))
    return [powers / powers.sum(-1, keepdims=True)]


def _launch(op: Op, template: str, grid: tuple[int, int, int]) -> Launch:
    return Launch(
        template,
        grid,
        {"x": op.operand(0)},
        {"y": op.output},
        variables={"beta": op.attrs.get("beta", 1.0)},
        flops=5 * op.output.elements,
    )


def _sliced(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, _ = bhwc(op.output.shape)
    return [_launch(op, "softmax.jinja", (width, height, batch))]


def _linear(op: Op, profile: Profile) -> Sequence[Launch]:
    return [_launch(op, "softmax_linear.jinja", linear_grid(prod(op.output.shape[:-1])))]


KERNELS = (
    Kernel("softmax", _sliced, rank_fits),
    Kernel("softmax_linear", _linear, reads=LINEAR, writes=LINEAR),
)

define(OpDef("SOFTMAX", infer, KERNELS, reference))
