"""tflgpu.depthwise_pointwise: a depthwise convolution and the 1x1 convolution that reads it.

The fused operator's core is the DEPTHWISE_CONV_2D, the elementwise operators on its result, and the
CONV_2D. What lies between them is never stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from ..ir import Op, Shape
from ..target import Target
from . import depthwise_conv
from .base import (
    Implementation,
    Launch,
    OpDef,
    Tile,
    TiledImplementation,
    TileLimits,
    TileShape,
    choose_tile,
    define,
    slice_count,
)
from .conv import bias_slices, pack_weights

NAME = "tflgpu.depthwise_pointwise"
LONG = 2
"""Slices of the tiles that go along a row."""
NEAREST_CACHE = 32768
"""Bytes of weights that do not stay in the cache nearest to a processor beside a row of pixels."""


def infer(op: Op) -> list[Shape]:
    """A fused operator keeps the shapes of those it is made of."""
    return [tensor.shape for tensor in op.outputs]


def _launch(
    op: Op, target: Target, template: str, columns: int, tile: Tile, more: Mapping[str, Any]
) -> Launch:
    depthwise, *activation, pointwise = op.core
    batch, height, _, channels = op.output.shape
    inputs = op.operand(0).shape[3]
    window = depthwise_conv.window(depthwise)
    taps = window.height * window.width
    return Launch(
        template,
        (columns, height, batch),
        {"x": op.operand(0)},
        {"y": op.output},
        {
            "tap_bias": bias_slices(depthwise, inputs, target),
            "tap_weights": depthwise_conv.pack_weights(depthwise, target),
            "bias": bias_slices(pointwise, channels, target),
            "weights": pack_weights(pointwise.constant(1), tile.slices, target),
        },
        {
            "tile": tile,
            "blocks": slice_count(channels, target) // tile.slices,
            "window": window,
            "inputs": inputs,
            "activation": activation,
            **more,
        },
        heavy=True,
        flops=2 * prod(op.output.shape[:3]) * inputs * (channels + taps),
    )


def _build(op: Op, target: Target, shape: TileShape | None) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    blocks = slice_count(channels, target)
    # The sums of one slice of the depthwise convolution, and weights, need registers, too.
    free = max(target.device.accumulators - blocks, 1)
    limits = TileLimits(free // (blocks + 1), target.device.tile_slices)
    most = depthwise_conv.MOST_PIXELS
    narrow = choose_tile(width, height * batch, 1, target, shape, limits=limits, most=most)
    tile = Tile(narrow.pixels, blocks)
    columns = -(-width // tile.pixels)
    return [_launch(op, target, "conv/depthwise_pointwise.jinja", columns, tile, {})]


def fits(width: int, inputs: int, target: Target) -> bool:
    """Whether the memory of a group holds a row of the depthwise convolution's channels."""
    return 4 * _row(width, inputs, target) <= target.device.local_memory


def _row(width: int, inputs: int, target: Target) -> int:
    return width * slice_count(inputs, target) * target.lanes


def _by_rows(op: Op, target: Target) -> str | None:
    if not target.on_processor:
        return "work-items share the memory of their group"
    return None


def _build_rows(op: Op, target: Target, shape: TileShape | None) -> Sequence[Launch]:
    batch, height, width, channels = op.output.shape
    inputs = op.operand(0).shape[3]
    # The weights come from farther away than the row: tiles of many pixels ask less often for them.
    limits = TileLimits(target.device.accumulators, LONG)
    if inputs * LONG * target.lanes * 4 >= NEAREST_CACHE:
        # The register a third slice of weights would need makes room for 14 pixels of 16 lanes.
        limits = TileLimits(limits.accumulators + 1, LONG)
    slices = slice_count(channels, target)
    tile = choose_tile(
        width, height * batch, slices, target, shape, limits=limits, whole_blocks=True
    )
    beyond = -width % tile.pixels * target.lanes
    more = {
        "held": _row(width, inputs, target) + beyond,
        "tap_pixels": depthwise_conv.row_tile(width),
    }
    launch = _launch(op, target, "conv/depthwise_pointwise_rows.jinja", 1, tile, more)
    # The row is kept in memory that work-items of a group would share.
    return [replace(launch, group=(1, 1, 1))]


IMPLEMENTATIONS: tuple[Implementation, ...] = (
    TiledImplementation("depthwise_pointwise_rows", _build_rows, _by_rows),
    TiledImplementation("depthwise_pointwise", _build),
)

define(OpDef(NAME, infer, IMPLEMENTATIONS))
