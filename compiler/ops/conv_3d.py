"""CONV_3D, and CONV_2D with computed weights: a direct kernel on row-major tensors.

x [batch, depth, rows, columns, inputs], weights [depth, rows, columns, inputs, outputs].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ..errors import ModelError
from ..ir import Op, Shape, constant
from ..target import Target
from .base import LINEAR, Implementation, Launch, OpDef, define, linear_grid
from .weights import check_bias

CHANNELS = 4
"""Adjacent output channels that a work-item computes."""


@dataclass(frozen=True)
class Walk:
    """One axis of the window: source = output * stride + step * dilation - before."""

    size: int
    stride: int
    dilation: int
    before: int
    output: int


def walks(op: Op) -> list[Walk]:
    """The window along depth, rows and columns (ModelError if it is invalid or does not fit)."""
    result = []
    for axis, letter in enumerate("dhw"):
        extent, size = op.operand(0).shape[1 + axis], op.operand(1).shape[axis]
        stride = int(op.attrs.get(f"stride_{letter}", 1))
        dilation = int(op.attrs.get(f"dilation_{letter}_factor", 1))
        if min(stride, dilation, size) < 1:
            raise ModelError(
                f"operator {op.index} {op.name}: window size {size}, stride {stride} and dilation "
                f"{dilation} must be at least 1"
            )
        reach = (size - 1) * dilation + 1
        padding = op.attrs.get("padding", "SAME")
        if padding == "SAME":
            output = -(-extent // stride)
            before = max((output - 1) * stride + reach - extent, 0) // 2
        else:
            before, after = (0, 0) if padding == "VALID" else padding[axis]
            output = (extent + before + after - reach) // stride + 1
        if output < 1:
            raise ModelError(
                f"operator {op.index} {op.name}: a window of {reach} does not fit an axis of "
                f"{extent}"
            )
        result.append(Walk(size, stride, dilation, before, output))
    return result


def _infer(op: Op) -> list[Shape]:
    source, weights = op.operand(0).shape, op.operand(1).shape
    if len(source) != 5 or len(weights) != 5 or source[4] != weights[3] or not prod(weights):
        raise ModelError(
            f"operator {op.index} {op.name}: input {list(source)} and weights {list(weights)} must "
            f"have rank 5 and the same number of input channels"
        )
    check_bias(op, weights[4])
    return [(source[0], *(walk.output for walk in walks(op)), weights[4])]


def _build(op: Op, target: Target) -> Sequence[Launch]:
    inputs, channels = op.operand(1).shape[3:]
    bias = op.input(2)
    if bias is None:
        bias = constant("zeros", np.zeros(channels, np.float32))
    blocks = -(-channels // CHANNELS)
    items = (*op.output.shape[:-1], blocks)
    return [
        Launch(
            "conv/conv_3d.jinja",
            linear_grid(prod(items)),
            {"x": op.operand(0), "weights": op.operand(1), "bias": bias},
            {"y": op.output},
            variables={
                "walks": walks(op),
                "inputs": inputs,
                "channels": channels,
                "blocks": blocks,
                "items": items,
                "tile": CHANNELS,
            },
            heavy=True,
            flops=2 * op.output.elements * prod(op.operand(1).shape[:4]),
        )
    ]


define(OpDef("CONV_3D", _infer, (Implementation("conv_3d", _build, reads=LINEAR, writes=LINEAR),)))
