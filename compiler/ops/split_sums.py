"""A vector times a matrix, where a work-item for each output would leave a GPU idle.

The work-items of a group split the inputs among them and join their sums, as LiteRT's GPU delegate
does for fully connected layers (tasks/fully_connected.cc). Sums are not in XNNPACK's order.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..ir import Array, Op
from ..target import Target
from .base import Launch, slice_count

PARTS = 4
"""Work-items that share the sums of a slice of outputs."""
LEAST_INPUTS = 64
"""Inputs from which on sharing pays for the work-items that wait."""


def splits(op: Op, target: Target) -> str | None:
    """Why the sums of a product with the weights, operand 1, are better not split."""
    if target.device.heavy_group < PARTS:
        return "work-groups are too small to share sums"
    if prod(op.output.shape) != op.output.shape[-1]:
        return "there are several vectors"
    if op.operand(0).shape[-1] < LEAST_INPUTS:
        return "there are few inputs"
    return None


def split_sums(op: Op, target: Target, bias: Array, weights: Array) -> Launch:
    """The product with weights [outputs, inputs]; bias is [slice][lane]."""
    outputs, inputs = weights.shape
    count = slice_count(outputs, target)
    padded = np.zeros((inputs, count * target.lanes), np.float32)
    padded[:, :outputs] = weights.T
    group = (target.device.heavy_group // PARTS, PARTS, 1)
    return Launch(
        "matmul/split_sums.jinja",
        (-(-count // group[0]) * group[0], PARTS, 1),
        {"x": op.operand(0)},
        {"y": op.output},
        {"bias": bias, "weights": padded.reshape(inputs, count, target.lanes)},
        {"parts": PARTS, "inputs": inputs},
        group=group,
        heavy=True,
        flops=2 * outputs * inputs,
    )
