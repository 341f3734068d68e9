"""CONV_2D: each work-item computes a tile of neighbouring pixels times output slices.

The weights lie in the order the kernel walks them:
[block of output slices][kernel row][kernel column][input channel][slice of the block][lane].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..devices import Profile
from ..errors import ModelError
from ..ir import Array, Op, Shape
from . import winograd
from .base import LINEAR, Kernel, Launch, OpDef, bhwc, define, slices
from .elementwise import flattens
from .split_sums import split_sums, splits
from .tile import Tile, choose_tile
from .window import Window

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


def bias_slices(
    op: Op, channels: int, profile: Profile, blocks: int = 1, position: int = 2
) -> Array:
    """The bias, zeros if there is none, padded to whole blocks of slices: [slice][lane]."""
    lanes = profile.slice_width
    count = -(-slices(channels, profile) // blocks) * blocks
    padded = np.zeros(count * lanes, np.float32)
    if op.input(position) is not None:
        padded[:channels] = op.constant(position).reshape(-1)
    return padded.reshape(count, lanes)


def pack_weights(weights: Array, blocks: int, profile: Profile) -> Array:
    """Weights OHWI as [block][row][column][input channel][slice of the block][lane]."""
    lanes = profile.slice_width
    outputs, height, width, inputs = weights.shape
    count = -(-slices(outputs, profile) // blocks)
    padded = np.zeros((count * blocks * lanes, height, width, inputs), np.float32)
    padded[:outputs] = weights
    blocked = padded.reshape(count, blocks, lanes, height, width, inputs)
    return np.ascontiguousarray(blocked.transpose(0, 3, 4, 5, 1, 2)).reshape(-1, lanes)


def constant_weights(op: Op, profile: Profile) -> str | None:
    """Weights are packed ahead of time."""
    computed = [i for i in (1, 2) if (tensor := op.input(i)) and not tensor.constant]
    return f"input {computed[0]} is computed while the model runs" if computed else None


def _pointwise(op: Op, profile: Profile) -> str | None:
    if not window(op).pointwise:
        return "the window is not 1x1"
    if groups(op) != 1:
        return "the channels are split into groups"
    return constant_weights(op, profile)


def _aligned(op: Op, profile: Profile) -> str | None:
    """Groups must be whole slices on both sides."""
    inputs, outputs = op.operand(1).shape[3], op.operand(1).shape[0]
    parts = groups(op)
    if parts > 1 and (inputs % profile.slice_width or outputs // parts % profile.slice_width):
        return f"{parts} groups are not whole slices"
    return _ungated(op, profile)


def _ungated(op: Op, profile: Profile) -> str | None:
    """Only 1x1 kernels multiply the channels as they read them."""
    if op.input(3) is not None:
        return "the channels are multiplied by a fourth input"
    return constant_weights(op, profile)


def _few_outputs(op: Op, profile: Profile) -> str | None:
    """Lanes of outputs would mostly be idle, and there are whole slices of inputs."""
    outputs, inputs = op.operand(1).shape[0], op.operand(1).shape[3]
    if outputs > profile.slice_width // THIN or groups(op) > 1:
        return f"{outputs} output channels fill a slice well enough"
    if window(op).pointwise:
        return "a 1x1 window gains little"
    if inputs < profile.slice_width:
        return f"{inputs} input channels fill no slice"
    return _ungated(op, profile)


def _launch(op: Op, profile: Profile, template: str, flat: bool, tile: Tile) -> Launch:
    batch, height, width, channels = bhwc(op.output.shape)
    weights = op.constant(1)
    shape = window(op)
    blocks = -(-slices(channels, profile) // tile.blocks)
    columns, rows = (height * width, 1) if flat else (width, height)
    return Launch(
        template,
        (-(-columns // tile.pixels), rows, batch * blocks),
        {"x": op.operand(0), **({"gate": op.operand(3)} if op.input(3) else {})},
        {"y": op.output},
        {
            "bias": bias_slices(op, channels, profile, tile.blocks),
            "weights": pack_weights(weights, tile.blocks, profile),
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


def _build_pointwise(op: Op, profile: Profile) -> Sequence[Launch]:
    flat = flattens(op)
    batch, height, width, channels = op.output.shape
    columns, rows = (height * width, 1) if flat else (width, height)
    tile = choose_tile(columns, rows * batch, slices(channels, profile), profile)
    return [_launch(op, profile, "conv/conv_1x1.jinja", flat, tile)]


def _build_window(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    per_group = slices(channels // groups(op), profile)
    tile = choose_tile(width, height * batch, per_group, profile, whole_blocks=groups(op) > 1)
    return [_launch(op, profile, "conv/conv.jinja", False, tile)]


def _build_linear(op: Op, profile: Profile) -> Sequence[Launch]:
    return [replace(*_build_window(op, profile), template="conv/conv_linear.jinja")]


def _build_grouped(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    count = slices(channels, profile)
    weights = op.constant(1)
    return [
        Launch(
            "conv/conv_grouped.jinja",
            (width, height, batch * count),
            {"x": op.operand(0)},
            {"y": op.output},
            {
                "bias": bias_slices(op, channels, profile),
                "weights": pack_weights(weights, 1, profile),
            },
            {"window": window(op), "inputs": weights.shape[3], "outputs": channels // groups(op)},
            heavy=True,
            flops=2 * op.output.elements * prod(weights.shape[1:]),
        )
    ]


def _build_thin(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, outputs = op.output.shape
    tile = choose_tile(width, height * batch, 1, profile, sums=outputs)
    lanes = profile.slice_width
    weights = op.constant(1)
    inputs = slices(weights.shape[3], profile)
    padded = np.zeros((*weights.shape[:3], inputs * lanes), np.float32)
    padded[..., : weights.shape[3]] = weights
    by_tap = padded.reshape(*weights.shape[:3], inputs, lanes).transpose(1, 2, 3, 0, 4)
    # Lane 0 starts from the bias, the others from zero.
    bias = np.zeros((outputs, lanes), np.float32)
    bias[:, 0] = bias_slices(op, outputs, profile).reshape(-1)[:outputs]
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


def _one_pixel(op: Op, profile: Profile) -> str | None:
    """A 1x1 convolution of a single pixel is a vector times a matrix."""
    return _pointwise(op, profile) or _ungated(op, profile) or splits(op, profile)


def _build_split(op: Op, profile: Profile) -> Sequence[Launch]:
    weights = op.constant(1)
    bias = bias_slices(op, weights.shape[0], profile)
    return [split_sums(op, profile, bias, weights.reshape(weights.shape[0], -1))]


def _winograd(op: Op, profile: Profile) -> str | None:
    if groups(op) != 1:
        return "the channels are split into groups"
    objection = _ungated(op, profile) or winograd.objection(op, window(op), profile)
    return objection or winograd.apart(op, profile)


def _from_rows(op: Op, profile: Profile) -> str | None:
    if _winograd(op, profile) is None:
        return "Winograd's algorithm is worth the conversion to slices that it reads"
    if groups(op) > 1 or window(op).dilation_x > 1:
        return "the taps of a row are no neighbours"
    return _ungated(op, profile)


def _build_winograd(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, _, _, outputs = op.output.shape
    tile = winograd.choose_strip(op, profile)
    weights = winograd.transform(op.constant(1))
    count = winograd.squares(op)
    return [
        Launch(
            "conv/winograd.jinja",
            (-(-count // tile.pixels), 1, batch),
            {"x": op.operand(0)},
            {"y": op.output},
            {
                "bias": bias_slices(op, outputs, profile, tile.blocks),
                "weights": pack_weights(weights, tile.blocks, profile),
            },
            {
                "tile": tile,
                "blocks": -(-slices(outputs, profile) // tile.blocks),
                "window": window(op),
                "a": winograd.A,
                "b": winograd.B,
            },
            group=(1, 1, 1),
            heavy=True,
            flops=2 * batch * count * weights.size,
        )
    ]


KERNELS = (
    Kernel("conv_split", _build_split, _one_pixel),
    Kernel("conv_thin", _build_thin, _few_outputs),
    Kernel("conv_1x1", _build_pointwise, _pointwise),
    Kernel("conv_winograd", _build_winograd, _winograd),
    Kernel("conv", _build_window, _aligned),
    Kernel("conv_from_linear", _build_linear, _from_rows, reads=LINEAR),
    Kernel("conv_grouped", _build_grouped, _ungated),
)

define(OpDef("CONV_2D", infer, KERNELS))
