"""Weights and biases of layers: what is checked of them, and how they are packed into slices."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from ..ir import Array, Op
from ..target import Target
from .base import slice_count


def check_bias(op: Op, channels: int, position: int = 2) -> None:
    """ModelError unless the bias, if there is one, has one entry per output channel."""
    bias = op.input(position)
    if bias is not None and bias.elements != channels:
        raise ModelError(
            f"operator {op.index} {op.name}: the bias has {bias.elements} entries for {channels} "
            f"output channels"
        )


def bias_slices(op: Op, channels: int, target: Target, blocks: int = 1, position: int = 2) -> Array:
    """The bias as [slice][lane], padded to whole blocks of `blocks` slices; zeros if absent."""
    lanes = target.lanes
    count = -(-slice_count(channels, target) // blocks) * blocks
    padded = np.zeros(count * lanes, np.float32)
    if op.input(position) is not None:
        padded[:channels] = op.constant(position).reshape(-1)
    return padded.reshape(count, lanes)


def pack_weights(weights: Array, blocks: int, target: Target) -> Array:
    """OHWI weights as [block][row][column][input channel][slice of the block][lane], float32.

    `blocks` is the number of output slices per block. The result has shape [..., lane], flattened
    to two axes.
    """
    lanes = target.lanes
    outputs, height, width, inputs = weights.shape
    count = -(-slice_count(outputs, target) // blocks)
    padded = np.zeros((count * blocks * lanes, height, width, inputs), np.float32)
    padded[:outputs] = weights
    blocked = padded.reshape(count, blocks, lanes, height, width, inputs)
    return np.ascontiguousarray(blocked.transpose(0, 3, 4, 5, 1, 2)).reshape(-1, lanes)


def constant_weights(op: Op, target: Target, bias: int = 2) -> str | None:
    """Why weights and the bias, at position `bias`, cannot be packed now; None if they can."""
    computed = [i for i in (1, bias) if (tensor := op.input(i)) and not tensor.constant]
    return f"input {computed[0]} is computed while the model runs" if computed else None
