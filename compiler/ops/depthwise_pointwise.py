"""tflgpu.depthwise_pointwise: a depthwise convolution and the 1x1 convolution behind it.

Inputs are the picture, and weights and bias of the 1x1 convolution. The depthwise one is the
attribute `depthwise`: an operator that stands in no graph any more, with its activation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..devices import Profile
from ..ir import Op, Shape
from . import depthwise_conv
from .base import Kernel, Launch, OpDef, define, slices
from .conv import bias_slices, pack_weights
from .tile import Tile, choose_tile

NAME = "tflgpu.depthwise_pointwise"
LONG = 2
"""Slices of the tiles that go along a row."""
NEAREST_CACHE = 32768
"""Bytes of weights that do not stay in the cache nearest to a processor beside a row of pixels."""


def infer(op: Op) -> list[Shape]:
    """The pixels of the depthwise convolution, the channels of the other one."""
    (pixels,) = depthwise_conv.infer(op.attrs["depthwise"])
    return [(*pixels[:3], op.operand(1).shape[0])]


def _launch(
    op: Op, profile: Profile, template: str, columns: int, tile: Tile, more: Mapping[str, Any]
) -> Launch:
    depthwise: Op = op.attrs["depthwise"]
    batch, height, _, channels = op.output.shape
    inputs = op.operand(0).shape[3]
    shape = depthwise_conv.window(depthwise)
    taps = shape.height * shape.width
    return Launch(
        template,
        (columns, height, batch),
        {"x": op.operand(0)},
        {"y": op.output},
        {
            "tap_bias": bias_slices(depthwise, inputs, profile),
            "tap_weights": depthwise_conv.pack_weights(depthwise, profile),
            "bias": bias_slices(op, channels, profile),
            "weights": pack_weights(op.constant(1), tile.blocks, profile),
        },
        {
            "tile": tile,
            "blocks": slices(channels, profile) // tile.blocks,
            "window": shape,
            "inputs": inputs,
            "depthwise": depthwise,
            **more,
        },
        heavy=True,
        flops=2 * int(np.prod(op.output.shape[:3])) * inputs * (channels + taps),
    )


def _build(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    blocks = slices(channels, profile)
    # The sums of one slice of the depthwise convolution, and weights, need registers, too.
    free = max(profile.accumulators - blocks, 1)
    narrow = replace(profile, accumulators=free // (blocks + 1))
    most = depthwise_conv.MOST_PIXELS
    tile = Tile(choose_tile(width, height * batch, 1, narrow, most=most).pixels, blocks)
    columns = -(-width // tile.pixels)
    return [_launch(op, profile, "conv/depthwise_pointwise.jinja", columns, tile, {})]


def fits(width: int, inputs: int, profile: Profile) -> bool:
    """Whether the memory of a group holds a row of the depthwise convolution's channels."""
    return 4 * _row(width, inputs, profile) <= profile.local_memory


def _row(width: int, inputs: int, profile: Profile) -> int:
    return width * slices(inputs, profile) * profile.slice_width


def _by_rows(op: Op, profile: Profile) -> str | None:
    if profile.heavy_group > 1:
        return "work-items share the memory of their group"
    return None


def _build_rows(op: Op, profile: Profile) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    inputs = op.operand(0).shape[3]
    # The weights come from farther away than the row: tiles of many pixels ask less often for them.
    long = replace(profile, tile_slices=LONG)
    if inputs * LONG * profile.slice_width * 4 >= NEAREST_CACHE:
        # The register a third slice of weights would need makes room for 14 pixels of 16 lanes.
        long = replace(long, accumulators=profile.accumulators + 1)
    tile = choose_tile(width, height * batch, slices(channels, profile), long, whole_blocks=True)
    beyond = -width % tile.pixels * profile.slice_width
    more = {
        "held": _row(width, inputs, profile) + beyond,
        "tap_pixels": depthwise_conv.row_tile(width),
    }
    launch = _launch(op, profile, "conv/depthwise_pointwise_rows.jinja", 1, tile, more)
    # The row is kept in memory that work-items of a group would share.
    return [replace(launch, group=(1, 1, 1))]


KERNELS = (
    Kernel("depthwise_pointwise_rows", _build_rows, _by_rows),
    Kernel("depthwise_pointwise", _build),
)

define(OpDef(NAME, infer, KERNELS))
