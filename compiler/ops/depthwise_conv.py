"""DEPTHWISE_CONV_2D with one output channel per input channel.

Other multipliers are rewritten to grouped convolutions before a kernel is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..devices import Profile
from ..errors import ModelError
from ..ir import Array, Op, Shape
from .base import Kernel, Launch, OpDef, define, slices
from .conv import bias_slices, check_bias, constant_weights
from .tile import choose_tile
from .window import Window

MOST_PIXELS = 8
"""Neighbouring pixels a work-item computes at most."""


def window(op: Op) -> Window:
    """The window of a depthwise convolution, from the shape of its 1HWC weights."""
    return Window.of(op, *op.operand(1).shape[1:3])


def row_tile(width: int) -> int:
    """Pixels of the tiles in which a work-item goes along a row of the output, of equal size."""
    return -(-width // -(-width // MOST_PIXELS))


def infer(op: Op) -> list[Shape]:
    """Checks that weights, bias and channels fit together."""
    image, weights = op.operand(0).shape, op.operand(1).shape
    if len(image) != 4 or len(weights) != 4 or weights[0] != 1:
        raise ModelError(
            f"operator {op.index} {op.name}: input {list(image)} and weights {list(weights)} "
            f"must have rank 4, the weights with 1 in front"
        )
    if not image[3] or not weights[3] or weights[3] % image[3]:
        raise ModelError(
            f"operator {op.index} {op.name}: {weights[3]} output channels are no multiple of "
            f"{image[3]} input channels"
        )
    check_bias(op, weights[3])
    rows, columns = window(op).output(op, *image[1:3])
    return [(image[0], rows, columns, weights[3])]


def pack_weights(op: Op, profile: Profile) -> Array:
    """Weights 1HWC as [slice][row][column][lane]."""
    _, height, width, channels = op.operand(1).shape
    count = slices(channels, profile)
    weights = np.zeros((height, width, count * profile.slice_width), np.float32)
    weights[:, :, :channels] = op.constant(1)[0]
    lanes = weights.reshape(height, width, count, profile.slice_width)
    return np.ascontiguousarray(lanes.transpose(2, 0, 1, 3))


def _one_to_one(op: Op, profile: Profile) -> str | None:
    if op.operand(1).shape[3] != op.operand(0).shape[3]:
        return "several output channels for an input channel"
    return constant_weights(op, profile)


def _build(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    shape = window(op)
    count = slices(channels, profile)
    # Each tap of the window is a line of its own once unrolled; long rows of them compile slowly.
    tile = choose_tile(width, height * batch * count, 1, profile, most=MOST_PIXELS)
    return [
        Launch(
            "conv/depthwise_conv.jinja",
            (-(-width // tile.pixels), height, batch * count),
            {"x": op.operand(0)},
            {"y": op.output},
            {
                "bias": bias_slices(op, channels, profile),
                "weights": pack_weights(op, profile),
            },
            {"window": shape, "tile": tile},
            heavy=True,
            flops=2 * op.output.elements * shape.height * shape.width,
        )
    ]


def _by_rows(op: Op, profile: Profile) -> str | None:
    """Vectors of a row are loaded once, which pays where a work-item is alone in its group."""
    if profile.heavy_group > 1:
        return "work-items of a group would read far apart"
    return _one_to_one(op, profile)


def _build_rows(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    shape = window(op)
    return [
        Launch(
            "conv/depthwise_conv_rows.jinja",
            (1, height, batch * slices(channels, profile)),
            {"x": op.operand(0)},
            {"y": op.output},
            {
                "bias": bias_slices(op, channels, profile),
                "weights": pack_weights(op, profile),
            },
            {"window": shape, "tap_pixels": row_tile(width)},
            heavy=True,
            flops=2 * op.output.elements * shape.height * shape.width,
        )
    ]


KERNELS = (
    Kernel("depthwise_conv_rows", _build_rows, _by_rows),
    Kernel("depthwise_conv", _build, _one_to_one),
)

define(OpDef("DEPTHWISE_CONV_2D", infer, KERNELS))
