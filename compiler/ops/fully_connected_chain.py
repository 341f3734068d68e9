"""tflgpu.fully_connected_chain: fully connected layers on one vector, one after another.

The fused operator's core is a MEAN over an image's pixels, or nothing; then layers, which are
FULLY_CONNECTED or 1x1 CONV_2D of a single pixel, each but the last with at most one activation; and
views between them. One work-group computes all of it and keeps what lies between the layers.

The weights lie as the kernel walks them, layer by layer:
[layer][block of output slices][input][slice of the block][lane].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..ir import Array, Op, Shape
from ..target import Target
from .base import LINEAR, Implementation, Launch, OpDef, bhwc, define, slice_count
from .conv import pack_weights
from .elementwise import ELEMENTWISE
from .work_group_reduction import team

NAME = "tflgpu.fully_connected_chain"

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
    destination: int
    """Where its output is held, unless it is the last layer's."""
    weights: int
    bias: int
    activation: tuple[Op, ...]
    """What becomes of each of its outputs, unless it is the last layer."""


def infer(op: Op) -> list[Shape]:
    """A fused operator keeps the shapes of those it is made of."""
    return [tensor.shape for tensor in op.outputs]


def layers_of(op: Op) -> list[Op]:
    """The layers that a chain computes; a layer that is no chain is one of its own."""
    return [inner for inner in op.core if inner.name in ("CONV_2D", "FULLY_CONNECTED")]


def layer_shapes(op: Op) -> list[tuple[int, int]]:
    """Outputs and inputs of each layer."""
    weights = [layer.operand(1) for layer in layers_of(op)]
    return [(tensor.shape[0], tensor.elements // tensor.shape[0]) for tensor in weights]


def held(op: Op, target: Target) -> int:
    """Floats of the vectors that the kernel keeps: all but the last."""
    return sum(slice_count(inputs, target) * target.lanes for _, inputs in layer_shapes(op))


def _averages(op: Op) -> bool:
    """Whether the first vector is the mean of an image's pixels."""
    return op.core[0].name == "MEAN"


def _activations(op: Op) -> list[tuple[Op, ...]]:
    """The elementwise operators behind each layer."""
    found: list[tuple[Op, ...]] = []
    for inner in op.core:
        if inner in layers_of(op):
            found.append(())
        elif inner.name in ELEMENTWISE:
            found[-1] += (inner,)
    return found


def _layers(op: Op, items: int, target: Target) -> list[Layer]:
    found = []
    source = weights_at = bias_at = 0
    for (outputs, inputs), behind in zip(layer_shapes(op), _activations(op), strict=True):
        count = slice_count(outputs, target)
        block = max(1, min(BLOCK, count // items))
        blocks = -(-count // block)
        destination = source + slice_count(inputs, target) * target.lanes
        places = (source, destination, weights_at, bias_at)
        found.append(Layer(inputs, count, block, blocks, *places, behind))
        source = destination
        weights_at += blocks * block * inputs
        bias_at += blocks * block
    return found


def _packed(op: Op, layers: Sequence[Layer], target: Target) -> dict[str, Array]:
    weights, biases = [], []
    for layer, place in zip(layers_of(op), layers, strict=True):
        values = layer.constant(1).reshape(layer.operand(1).shape[0], 1, 1, -1)
        weights.append(pack_weights(values, place.block, target))
        bias = np.zeros(place.blocks * place.block * target.lanes, np.float32)
        if layer.input(2) is not None:
            bias[: len(values)] = layer.constant(2).reshape(-1)
        biases.append(bias.reshape(-1, target.lanes))
    return {"bias": np.concatenate(biases), "weights": np.concatenate(weights)}


def _fits(op: Op, target: Target) -> str | None:
    if 4 * held(op, target) > target.device.local_memory:
        return f"the vectors take more than {target.device.local_memory} bytes of local memory"
    return None


def _of_a_vector(op: Op, target: Target) -> str | None:
    return "it reads an image" if _averages(op) else _fits(op, target)


def _build(op: Op, target: Target) -> Sequence[Launch]:
    _, height, width, channels = bhwc(op.operand(0).shape)
    averaged = height * width if _averages(op) else 0
    count = slice_count(channels, target)
    widest = max(slice_count(max(shape), target) for shape in layer_shapes(op))
    items = team(max(widest, averaged * count // PIXELS), target)
    rows = min(items // count, averaged // PIXELS)
    layers = _layers(op, items, target)
    products = sum(outputs * inputs for outputs, inputs in layer_shapes(op))
    return [
        Launch(
            "matmul/fully_connected_chain.jinja",
            (items, 1, 1),
            {"x": op.operand(0)},
            {"y": op.output},
            _packed(op, layers, target),
            {
                "layers": layers,
                "held": max(held(op, target), rows * count * target.lanes),
                "mean": _averages(op),
                "rows": rows,
                "team": items,
            },
            group=(items, 1, 1),
            flatten=True,
            flops=2 * products + averaged * channels,
        )
    ]


IMPLEMENTATIONS = (
    Implementation("fully_connected_chain", _build, _fits),
    Implementation("fully_connected_chain_from_linear", _build, _of_a_vector, reads=LINEAR),
)

define(OpDef(NAME, infer, IMPLEMENTATIONS))
