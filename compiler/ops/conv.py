"""CONV_2D: each work-item computes a tile of neighbouring pixels times output slices.

The weights lie in the order the kernel walks them:
[block of output slices][kernel row][kernel column][input channel][slice of the block][lane].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..errors import ModelError
from ..ir import Array, Op, Shape
from ..target import Target
from . import winograd
from .base import (
    LINEAR,
    Implementation,
    Launch,
    OpDef,
    Tile,
    TiledImplementation,
    TileShape,
    Traits,
    Weights,
    Window,
    bhwc,
    choose_tile,
    define,
    slice_count,
)
from .elementwise import flattens
from .split_sums import split_sums, splits

THIN = 4
"""Output channels that fill less than one in so many lanes of a slice are few."""


def window(op: Op) -> Window:
    """The window of a convolution, from the shape of its OHWI weights."""
    return Window.of(op, *op.operand(1).shape[1:3])


def groups(op: Op) -> int:
    """How many groups the channels are split into."""
    return int(op.operand(0).shape[3]) // int(op.operand(1).shape[3])


def infer(op: Op) -> list[Shape]:
    """Checks that weights, bias and channels fit together."""
    image, weights = op.operand(0).shape, op.operand(1).shape
    if len(image) != 4 or len(weights) != 4 or not prod(weights):
        raise ModelError(
            f"operator {op.index} {op.name}: input {list(image)} and weights {list(weights)} "
            f"must have rank 4"
        )
    if image[3] % weights[3] or weights[0] % max(image[3] // weights[3], 1) or not image[3]:
        raise ModelError(
            f"operator {op.index} {op.name}: {image[3]} input channels do not go with weights "
            f"{list(weights)}"
        )
    check_bias(op, weights[0])
    rows, columns = window(op).output(op, *image[1:3])
    return [(image[0], rows, columns, weights[0])]


def check_bias(op: Op, channels: int) -> None:
    """ModelError unless the bias, if there is one, has an entry for each output channel."""
    bias = op.input(2)
    if bias is not None and bias.elements != channels:
        raise ModelError(
            f"operator {op.index} {op.name}: {bias.elements} biases for {channels} channels"
        )


def bias_slices(op: Op, channels: int, target: Target, blocks: int = 1, position: int = 2) -> Array:
    """The bias, zeros if there is none, padded to whole blocks of slices: [slice][lane]."""
    lanes = target.lanes
    count = -(-slice_count(channels, target) // blocks) * blocks
    padded = np.zeros(count * lanes, np.float32)
    if op.input(position) is not None:
        padded[:channels] = op.constant(position).reshape(-1)
    return padded.reshape(count, lanes)


def pack_weights(weights: Array, blocks: int, target: Target) -> Array:
    """Weights OHWI as [block][row][column][input channel][slice of the block][lane]."""
    lanes = target.lanes
    outputs, height, width, inputs = weights.shape
    count = -(-slice_count(outputs, target) // blocks)
    padded = np.zeros((count * blocks * lanes, height, width, inputs), np.float32)
    padded[:outputs] = weights
    blocked = padded.reshape(count, blocks, lanes, height, width, inputs)
    return np.ascontiguousarray(blocked.transpose(0, 3, 4, 5, 1, 2)).reshape(-1, lanes)


def constant_weights(op: Op, target: Target) -> str | None:
    """Weights are packed ahead of time."""
    computed = [i for i in (1, 2) if (tensor := op.input(i)) and not tensor.constant]
    return f"input {computed[0]} is computed while the model runs" if computed else None


def _pointwise(op: Op, target: Target) -> str | None:
    if not window(op).pointwise:
        return "the window is not 1x1"
    if groups(op) != 1:
        return "the channels are split into groups"
    return constant_weights(op, target)


def _aligned(op: Op, target: Target) -> str | None:
    """Groups must be whole slices on both sides."""
    inputs, outputs = op.operand(1).shape[3], op.operand(1).shape[0]
    parts = groups(op)
    if parts > 1 and (inputs % target.lanes or outputs // parts % target.lanes):
        return f"{parts} groups are not whole slices"
    return _ungated(op, target)


def _ungated(op: Op, target: Target) -> str | None:
    """Only 1x1 kernels multiply the channels as they read them."""
    if op.input(3) is not None:
        return "the channels are multiplied by a fourth input"
    return constant_weights(op, target)


def _few_outputs(op: Op, target: Target) -> str | None:
    """Lanes of outputs would mostly be idle, and there are whole slices of inputs."""
    outputs, inputs = op.operand(1).shape[0], op.operand(1).shape[3]
    if outputs > target.lanes // THIN or groups(op) > 1:
        return f"{outputs} output channels fill a slice well enough"
    if window(op).pointwise:
        return "a 1x1 window gains little"
    if inputs < target.lanes:
        return f"{inputs} input channels fill no slice"
    return _ungated(op, target)


def _launch(op: Op, target: Target, template: str, flat: bool, tile: Tile) -> Launch:
    batch, height, width, channels = bhwc(op.output.shape)
    weights = op.constant(1)
    shape = window(op)
    blocks = -(-slice_count(channels, target) // tile.slices)
    columns, rows = (height * width, 1) if flat else (width, height)
    return Launch(
        template,
        (-(-columns // tile.pixels), rows, batch * blocks),
        {"x": op.operand(0), **({"gate": op.operand(3)} if op.input(3) else {})},
        {"y": op.output},
        {
            "bias": bias_slices(op, channels, target, tile.slices),
            "weights": pack_weights(weights, tile.slices, target),
        },
        {
            "tile": tile,
            "blocks": blocks,
            "window": shape,
            "inputs": weights.shape[3],
            "groups": groups(op),
        },
        flatten=flat,
        heavy=True,
        flops=2 * op.output.elements * prod(weights.shape[1:]),
    )


def _build_pointwise(op: Op, target: Target, shape: TileShape | None) -> Sequence[Launch]:
    flat = flattens(op)
    batch, height, width, channels = op.output.shape
    columns, rows = (height * width, 1) if flat else (width, height)
    tile = choose_tile(columns, rows * batch, slice_count(channels, target), target, shape)
    return [_launch(op, target, "conv/conv_1x1.jinja", flat, tile)]


def _build_window(op: Op, target: Target, shape: TileShape | None) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    per_group = slice_count(channels // groups(op), target)
    whole = groups(op) > 1
    tile = choose_tile(width, height * batch, per_group, target, shape, whole_blocks=whole)
    return [_launch(op, target, "conv/conv.jinja", False, tile)]


def _build_linear(op: Op, target: Target, shape: TileShape | None) -> Sequence[Launch]:
    return [replace(*_build_window(op, target, shape), template="conv/conv_linear.jinja")]


def _build_grouped(op: Op, target: Target) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    count = slice_count(channels, target)
    weights = op.constant(1)
    return [
        Launch(
            "conv/conv_grouped.jinja",
            (width, height, batch * count),
            {"x": op.operand(0)},
            {"y": op.output},
            {
                "bias": bias_slices(op, channels, target),
                "weights": pack_weights(weights, 1, target),
            },
            {"window": window(op), "inputs": weights.shape[3], "outputs": channels // groups(op)},
            heavy=True,
            flops=2 * op.output.elements * prod(weights.shape[1:]),
        )
    ]


def _build_thin(op: Op, target: Target, shape: TileShape | None) -> Sequence[Launch]:
    batch, height, width, outputs = op.output.shape
    tile = choose_tile(width, height * batch, 1, target, shape, sums=outputs)
    lanes = target.lanes
    weights = op.constant(1)
    inputs = slice_count(weights.shape[3], target)
    padded = np.zeros((*weights.shape[:3], inputs * lanes), np.float32)
    padded[..., : weights.shape[3]] = weights
    by_tap = padded.reshape(*weights.shape[:3], inputs, lanes).transpose(1, 2, 3, 0, 4)
    # Lane 0 starts from the bias, the others from zero.
    bias = np.zeros((outputs, lanes), np.float32)
    bias[:, 0] = bias_slices(op, outputs, target).reshape(-1)[:outputs]
    return [
        Launch(
            "conv/conv_thin.jinja",
            (-(-width // tile.pixels), height, batch),
            {"x": op.operand(0)},
            {"y": op.output},
            {"bias": bias, "weights": np.ascontiguousarray(by_tap)},
            {"tile": tile, "window": window(op), "outputs": outputs},
            heavy=True,
            flops=2 * op.output.elements * prod(weights.shape[1:]),
        )
    ]


def _one_pixel(op: Op, target: Target) -> str | None:
    """A 1x1 convolution of a single pixel is a vector times a matrix."""
    return _pointwise(op, target) or _ungated(op, target) or splits(op, target)


def _build_split(op: Op, target: Target) -> Sequence[Launch]:
    weights = op.constant(1)
    bias = bias_slices(op, weights.shape[0], target)
    return [split_sums(op, target, bias, weights.reshape(weights.shape[0], -1))]


def _winograd(op: Op, target: Target) -> str | None:
    if groups(op) != 1:
        return "the channels are split into groups"
    reason = _ungated(op, target) or winograd.unsuited(op, window(op), target)
    return reason or winograd.separate_steps(op, target)


def _from_rows(op: Op, target: Target) -> str | None:
    if _winograd(op, target) is None:
        return "Winograd's algorithm is worth the conversion to slices that it reads"
    if groups(op) > 1 or window(op).dilation_x > 1:
        return "the taps of a row are no neighbours"
    return _ungated(op, target)


def _build_winograd(op: Op, target: Target, shape: TileShape | None) -> Sequence[Launch]:
    batch, _, _, outputs = op.output.shape
    tile = winograd.choose_strip(op, target, shape)
    weights = winograd.transform(op.constant(1))
    count = winograd.squares(op)
    return [
        Launch(
            "conv/winograd.jinja",
            (-(-count // tile.pixels), 1, batch),
            {"x": op.operand(0)},
            {"y": op.output},
            {
                "bias": bias_slices(op, outputs, target, tile.slices),
                "weights": pack_weights(weights, tile.slices, target),
            },
            {
                "tile": tile,
                "blocks": -(-slice_count(outputs, target) // tile.slices),
                "window": window(op),
                "a": winograd.A,
                "b": winograd.B,
            },
            group=(1, 1, 1),
            heavy=True,
            flops=2 * batch * count * weights.size,
        )
    ]


IMPLEMENTATIONS = (
    Implementation("conv_split", _build_split, _one_pixel),
    TiledImplementation("conv_thin", _build_thin, _few_outputs),
    TiledImplementation("conv_1x1", _build_pointwise, _pointwise),
    TiledImplementation("conv_winograd", _build_winograd, _winograd),
    TiledImplementation("conv", _build_window, _aligned),
    TiledImplementation("conv_from_linear", _build_linear, _from_rows, reads=LINEAR),
    Implementation("conv_grouped", _build_grouped, _ungated),
)

define(
    OpDef(
        "CONV_2D",
        infer,
        IMPLEMENTATIONS,
        versions=8,
        traits=Traits(weights=Weights(0, input_axis=3, summed_axes=(1, 2, 3)), window=window),
    )
)
