"""tflgpu.depthwise_pointwise: a depthwise convolution fused with the 1x1 convolution that reads it.

The core of the fused operator is the DEPTHWISE_CONV_2D, the elementwise operators on its result,
and the CONV_2D. The values between them are never written to a tensor.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

from ...ir import Op
from ...target import Target
from ..base.choose_tile import TileLimits, choose_tile
from ..base.definition import Implementation, TiledImplementation, define
from ..base.launch import Launch
from ..base.shapes import as_inferred
from ..base.storage import slice_count
from ..base.tile import Area, Tile, TileShape
from ..layers.weights import bias_slices, layer_constants
from . import conv, depthwise_conv

NAME = "tflgpu.depthwise_pointwise"
LONG = 2  # Output slices of the tiles that walk along a row.
# Bytes of weights that no longer fit in a processor's L1 cache beside a row of pixels.
NEAREST_CACHE = 32768


def _launch(
    op: Op, target: Target, template: str, columns: int, tile: Tile, more: Mapping[str, Any]
) -> Launch:
    depthwise, *activation, pointwise = op.core
    batch, height, _, channels = op.output.shape
    inputs = op.operand(0).shape[3]
    window = conv.window(depthwise)
    taps = window.height * window.width
    return Launch.of(
        op,
        template,
        (columns, height, batch),
        constants={
            "tap_bias": bias_slices(depthwise, inputs, target),
            "tap_weights": depthwise_conv.pack_weights(depthwise, target),
            **layer_constants(pointwise, pointwise.constant(1), tile.slices, target),
        },
        variables={
            "tile": tile,
            "blocks": slice_count(channels, target) // tile.slices,
            "window": window,
            "computed": False,
            "inputs": inputs,
            "activation": activation,
            **more,
        },
        heavy=True,
        flops=2 * prod(op.output.shape[:3]) * inputs * (channels + taps),
    )


def _build(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    batch, height, width, channels = op.output.shape
    blocks = slice_count(channels, target)
    # One slice of the depthwise convolution's sums, and the weights, also need registers.
    free = max(target.device.accumulators - blocks, 1)
    limits = TileLimits(free // (blocks + 1), target.device.tile_slices)
    area, most = Area(width, height, batch), depthwise_conv.MAX_PIXELS
    narrow = choose_tile(area, target, wanted, limits=limits, most=most)
    tile = Tile(narrow.pixels, blocks)
    columns = -(-width // tile.pixels)
    return _launch(op, target, "conv/depthwise_pointwise.jinja", columns, tile, {})


def fits(width: int, inputs: int, target: Target) -> bool:
    """Whether local memory holds one row of the depthwise convolution's output."""
    return 4 * _row(width, inputs, target) <= target.device.local_memory


def _row(width: int, inputs: int, target: Target) -> int:
    return width * slice_count(inputs, target) * target.lanes


def _by_rows(op: Op, target: Target) -> str | None:
    if not target.on_processor:
        return "a work-item cannot use all local memory of its work-group"
    return None


def _build_rows(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    batch, height, width, channels = op.output.shape
    inputs = op.operand(0).shape[3]
    # Weights come from a slower cache than the row; tiles of many pixels load them less often.
    limits = TileLimits(target.device.accumulators, LONG)
    if inputs * LONG * target.lanes * 4 >= NEAREST_CACHE:
        # With two slices of weights instead of three, a register is free for a 14th pixel.
        limits = TileLimits(limits.accumulators + 1, LONG)
    area = Area(width, height, batch, slice_count(channels, target))
    tile = choose_tile(area, target, wanted, limits=limits, whole_blocks=True)
    beyond = -width % tile.pixels * target.lanes
    more = {
        "held": _row(width, inputs, target) + beyond,
        "tap_pixels": depthwise_conv.row_tile(width),
    }
    launch = _launch(op, target, "conv/depthwise_pointwise_rows.jinja", 1, tile, more)
    # The row lives in local memory, which several work-items of a group would share.
    return replace(launch, group=(1, 1, 1))


IMPLEMENTATIONS: tuple[Implementation, ...] = (
    TiledImplementation("depthwise_pointwise_rows", _build_rows, _by_rows),
    TiledImplementation("depthwise_pointwise", _build),
)

define(NAME, as_inferred, IMPLEMENTATIONS)
