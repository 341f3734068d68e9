"""SOFTMAX over the last axis, of beta times the input."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..devices import Profile
from ..errors import ModelError
from ..ir import Array, Op, Shape
from .base import LINEAR, Kernel, Launch, OpDef, bhwc, define, linear_grid
from .elementwise import flattens, rank_fits
from .team import team, too_small

MOST_ROWS = 256
"""Rows that may get a work-group each."""


def infer(op: Op) -> list[Shape]:
    shape = op.operand(0).shape
    if not shape:
        raise ModelError(f"operator {op.index} {op.name}: a scalar has no axis to normalize")
    return [shape]


def reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    x = arrays[0] * op.attrs.get("beta", 1.0)
    powers = np.exp(x - x.max(-1, keepdims=True))
    return [powers / powers.sum(-1, keepdims=True)]


def _few_rows(op: Op, profile: Profile) -> str | None:
    """A group for each row pays where rows are few and long, as in LiteRT's GPU delegate."""
    *outer, count = op.output.shape
    if prod(outer) > min(MOST_ROWS, count):
        return f"{prod(outer)} rows keep the device busy"
    return too_small(count // profile.slice_width, profile)


def _few_pixels(op: Op, profile: Profile) -> str | None:
    objection = rank_fits(op, profile) or _few_rows(op, profile)
    if objection is None and not flattens(op):
        return "what follows needs rows and columns"
    return objection


def _launch(op: Op, template: str, grid: tuple[int, int, int], items: int = 1) -> Launch:
    return Launch(
        template,
        grid,
        {"x": op.operand(0)},
        {"y": op.output},
        variables={"beta": op.attrs.get("beta", 1.0), "team": items},
        group=(items, 1, 1) if items > 1 else None,
        flatten=items > 1,
        flops=5 * op.output.elements,
    )


def _sliced(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, _ = bhwc(op.output.shape)
    return [_launch(op, "softmax.jinja", (width, height, batch))]


def _linear(op: Op, profile: Profile) -> Sequence[Launch]:
    return [_launch(op, "softmax_linear.jinja", linear_grid(prod(op.output.shape[:-1])))]


def _sliced_group(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, channels = bhwc(op.output.shape)
    items = team(channels // profile.slice_width, profile)
    return [_launch(op, "softmax_group.jinja", (items, height * width, batch), items)]


def _linear_group(op: Op, profile: Profile) -> Sequence[Launch]:
    *outer, count = op.output.shape
    items = team(count // profile.slice_width, profile)
    return [_launch(op, "softmax_group_linear.jinja", (items, prod(outer), 1), items)]


KERNELS = (
    Kernel("softmax_group", _sliced_group, _few_pixels),
    Kernel("softmax_group_linear", _linear_group, _few_rows, reads=LINEAR, writes=LINEAR),
    Kernel("softmax", _sliced, rank_fits),
    Kernel("softmax_linear", _linear, reads=LINEAR, writes=LINEAR),
)

define(OpDef("SOFTMAX", infer, KERNELS, reference))
