"""tflgpu.variance: the mean of squared differences from a mean that is given, as norms need it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..devices import Profile
from ..ir import Array, Op, Shape
from .base import LINEAR, Kernel, Launch, OpDef, bhwc, define, linear_grid, slices

NAME = "tflgpu.variance"


def _axes(op: Op) -> tuple[int, ...]:
    return tuple(op.attrs["axes"])


def infer(op: Op) -> list[Shape]:
    """The reduced axes stay, with size 1."""
    shape = op.operand(0).shape
    return [tuple(1 if axis in _axes(op) else size for axis, size in enumerate(shape))]


def reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    """Inputs are the values and their mean, with the reduced axes of size 1."""
    return [np.square(arrays[0] - arrays[1]).mean(_axes(op), keepdims=True, dtype=np.float32)]


def _pixels_only(op: Op, profile: Profile) -> str | None:
    rank = len(op.operand(0).shape)
    if rank > 4:
        return f"rank {rank} is above 4"
    return "the channels are reduced" if rank - 1 in _axes(op) else None


def _launch(op: Op, template: str, grid: tuple[int, int, int], shape: Shape) -> Launch:
    source = op.operand(0).shape
    count = prod(source[axis] for axis in _axes(op))
    return Launch(
        template,
        grid,
        {"x": op.operand(0), "center": op.operand(1)},
        {"y": op.output},
        variables={
            "reduced": {axis + len(shape) - len(source) for axis in _axes(op)},
            "shape": shape,
            "count": f"{float(count)}f",
        },
        flops=3 * op.operand(0).elements,
    )


def _sliced(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, channels = bhwc(op.output.shape)
    grid = (width, height, batch * slices(channels, profile))
    return [_launch(op, "variance.jinja", grid, bhwc(op.operand(0).shape))]


def _linear(op: Op, profile: Profile) -> Sequence[Launch]:
    grid = linear_grid(op.output.elements)
    return [_launch(op, "variance_linear.jinja", grid, op.operand(0).shape)]


KERNELS = (
    Kernel("variance", _sliced, _pixels_only),
    Kernel("variance_linear", _linear, reads=LINEAR, writes=LINEAR),
)

define(OpDef(NAME, infer, KERNELS, reference))
