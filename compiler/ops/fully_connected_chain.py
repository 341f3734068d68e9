"""tflgpu.dense: fully connected layers on one vector, one after another in one kernel.

Inputs are the vector and weights [outputs, inputs] and bias of each layer. `activations` names the
elementwise operator between a layer and the next, NONE for none. With `mean` the first input is a
picture, and the vector the means of its channels. This is squeeze and excite (arXiv 1709.01507)
without the product, and it is small networks as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..devices import Profile
from ..ir import Array, Op, Shape
from .base import LINEAR, Kernel, Launch, OpDef, bhwc, define, slices
from .conv import pack_weights
from .elementwise import ELEMENTWISE
from .work_group_reduction import team

NAME = "tflgpu.dense"

BLOCK = 4
"""Slices of outputs a work-item computes at a time, where each has that many."""

PIXELS = 8
"""Pixels a work-item adds up at least, where several share a mean."""


@dataclass(frozen=True)
class Layer:
    """One layer of the kernel; places count floats of held vectors, or slices of constants."""

    inputs: int
    slices: int
    block: int
    """Slices of outputs a work-item computes at a time."""
    blocks: int
    source: int
    """Where its input is held."""
    target: int
    """Where its output is held, unless it is the last layer's."""
    weights: int
    bias: int
    activation: str | None
    """The text of what becomes of `result`, None if it stays."""


def infer(op: Op) -> list[Shape]:
    return [(*(1,) * (len(op.output.shape) - 1), op.operand(len(op.inputs) - 2).shape[0])]


def weights_of(op: Op) -> list[Array]:
    """The weights of each layer, [outputs, inputs]."""
    return [op.constant(position) for position in range(1, len(op.inputs), 2)]


def held(op: Op, profile: Profile) -> int:
    """Floats of the vectors that the kernel keeps: all but the last."""
    lanes = profile.slice_width
    return sum(slices(w.shape[1], profile) * lanes for w in weights_of(op))


def _layers(op: Op, items: int, profile: Profile) -> list[Layer]:
    found = []
    source = weights_at = bias_at = 0
    for weights, name in zip(weights_of(op), (*op.attrs["activations"], "NONE"), strict=True):
        outputs, inputs = weights.shape
        count = slices(outputs, profile)
        block = max(1, min(BLOCK, count // items))
        blocks = -(-count // block)
        target = source + slices(inputs, profile) * profile.slice_width
        activation = None
        if name != "NONE":
            text = ELEMENTWISE[name].text({}, integers=False, slices=True)
            activation = text.format(a="result")
        found.append(
            Layer(inputs, count, block, blocks, source, target, weights_at, bias_at, activation)
        )
        source = target
        weights_at += blocks * block * inputs
        bias_at += blocks * block
    return found


def _packed(op: Op, layers: Sequence[Layer], profile: Profile) -> dict[str, Array]:
    """Weights [layer][block of outputs][input][slice of the block][lane]; biases in slices."""
    lanes = profile.slice_width
    weights, biases = [], []
    for number, (layer, values) in enumerate(zip(layers, weights_of(op), strict=True)):
        weights.append(pack_weights(values[:, None, None, :], layer.block, profile))
        bias = np.zeros(layer.blocks * layer.block * lanes, np.float32)
        bias[: values.shape[0]] = op.constant(2 * number + 2).reshape(-1)
        biases.append(bias.reshape(-1, lanes))
    return {"bias": np.concatenate(biases), "weights": np.concatenate(weights)}


def _fits(op: Op, profile: Profile) -> str | None:
    if 4 * held(op, profile) > profile.local_memory:
        return f"the vectors take more than {profile.local_memory} bytes of local memory"
    return None


def _vector(op: Op, profile: Profile) -> str | None:
    return "a picture is read" if op.attrs["mean"] else _fits(op, profile)


def _build(op: Op, profile: Profile) -> Sequence[Launch]:
    _, height, width, channels = bhwc(op.operand(0).shape)
    averaged = height * width if op.attrs["mean"] else 0
    count = slices(channels, profile)
    widest = max(slices(max(w.shape), profile) for w in weights_of(op))
    items = team(max(widest, averaged * count // PIXELS), profile)
    rows = min(items // count, averaged // PIXELS)
    layers = _layers(op, items, profile)
    products = sum(weights.size for weights in weights_of(op))
    return [
        Launch(
            "matmul/dense.jinja",
            (items, 1, 1),
            {"x": op.operand(0)},
            {"y": op.output},
            _packed(op, layers, profile),
            {
                "layers": layers,
                "held": max(held(op, profile), rows * count * profile.slice_width),
                "mean": op.attrs["mean"],
                "rows": rows,
                "team": items,
            },
            group=(items, 1, 1),
            flatten=True,
            flops=2 * products + averaged * channels,
        )
    ]


KERNELS = (
    Kernel("dense", _build, _fits),
    Kernel("dense_from_linear", _build, _vector, reads=LINEAR),
)

define(OpDef(NAME, infer, KERNELS))
