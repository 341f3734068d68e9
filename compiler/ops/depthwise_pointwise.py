"""tflgpu.depthwise_pointwise: a depthwise convolution and the 1x1 convolution behind it.

Inputs are the picture, and weights and bias of the 1x1 convolution. The depthwise one is the
attribute `depthwise`: an operator that stands in no graph any more, with its activation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..devices import Profile
from ..ir import Op, Shape
from . import depthwise_conv
from .base import Kernel, Launch, OpDef, define, slices
from .conv import bias_slices, pack_weights
from .tile import Tile, choose_tile

NAME = "tflgpu.depthwise_pointwise"


def infer(op: Op) -> list[Shape]:
    """The pixels of the depthwise convolution, the channels of the other one."""
    (pixels,) = depthwise_conv.infer(op.attrs["depthwise"])
    return [(*pixels[:3], op.operand(1).shape[0])]


def _build(op: Op, profile: Profile) -> Sequence[Launch]:
    depthwise: Op = op.attrs["depthwise"]
    batch, height, width, channels = op.output.shape
    inputs = op.operand(0).shape[3]
    blocks = slices(channels, profile)
    # The sums of one slice of the depthwise convolution, and weights, need registers, too.
    free = max(profile.accumulators - blocks, 1)
    narrow = replace(profile, accumulators=free // (blocks + 1))
    most = depthwise_conv.MOST_PIXELS
    tile = Tile(choose_tile(width, height * batch, 1, narrow, most=most).pixels, blocks)
    shape = depthwise_conv.window(depthwise)
    taps = shape.height * shape.width
    return [
        Launch(
            "depthwise_pointwise.jinja",
            (-(-width // tile.pixels), height, batch),
            {"x": op.operand(0)},
            {"y": op.output},
            {
                "tap_bias": bias_slices(depthwise, inputs, profile),
                "tap_weights": depthwise_conv.pack_weights(depthwise, profile),
                "bias": bias_slices(op, channels, profile),
                "weights": pack_weights(op.constant(1), blocks, profile),
            },
            {
                "tile": tile,
                "blocks": 1,
                "window": shape,
                "inputs": inputs,
                "depthwise": depthwise,
            },
            heavy=True,
            flops=2 * int(np.prod(op.output.shape[:3])) * inputs * (channels + taps),
        )
    ]


define(OpDef(NAME, infer, (Kernel("depthwise_pointwise", _build),)))
