"""1x1 convolutions of few pixels, in which several work-items share the sums of a tile.

Deep layers have so few pixels that tiles would have to be small for a GPU to have enough of them,
and small tiles load more for each multiply-add. Instead the work-items along the second axis of a
group each add up a part of the input channels for a large tile, and the first one joins what they
have. The order of summation therefore differs from XNNPACK's.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..ir import Op
from ..target import Target
from .base import IN_ROWS, Launch, Tile, TileShape, choose_tile, slice_count
from .elementwise import flattens
from .weights import bias_slices, pack_weights

PARTS = 4
"""Work-items that share the sums of a tile."""
MIN_SLICES = 4
"""Fewest slices of input channels for each of them."""
GAIN = 0.9
"""Share of the estimated time that remains, at most; the rest pays for joining the sums."""


def unsuited(op: Op, target: Target) -> str | None:
    """Why sharing the sums of a 1x1 convolution does not pay; None if it does."""
    inputs = op.operand(1).shape[3]
    if target.on_processor or not target.device.shared_sums:
        return "work-items of the device do not gain by sharing sums"
    if target.device.heavy_group < PARTS * PARTS:
        return "the device's work-groups are too small to share sums"
    if inputs % (target.lanes * PARTS) or inputs < target.lanes * PARTS * MIN_SLICES:
        return f"its {inputs} input channels do not make {PARTS} equal parts of whole slices"
    if not flattens(op):
        return "an operand of its epilogue does not have its height and width"
    whole, split = _tile(op, target, None, 1), _tile(op, target, None, PARTS)
    if split.estimate / PARTS > GAIN * whole.estimate:
        return "the device is busy without sharing sums"
    if _shared(split, target) > target.device.local_memory:
        return "the device has too little local memory to join the sums"
    return None


def _tile(op: Op, target: Target, wanted: TileShape | None, parts: int) -> Tile:
    batch, height, width, channels = op.output.shape
    count = slice_count(channels, target)
    return choose_tile(height * width, batch * parts, count, target, wanted, work=IN_ROWS)


def _shared(tile: Tile, target: Target) -> int:
    """Bytes in which a group keeps the sums of all parts but the first."""
    others = target.device.heavy_group // PARTS * (PARTS - 1)
    return others * tile.accumulators * target.lanes * 4


def build(op: Op, target: Target, wanted: TileShape | None) -> Sequence[Launch]:
    """The launch. Tiles of all slices are numbered along the first axis, so that groups are full.

    Groups have a size of their own, as they share memory.
    """
    batch, height, width, channels = op.output.shape
    weights = op.constant(1)
    tile = _tile(op, target, wanted, PARTS)
    columns = -(-height * width // tile.pixels)
    blocks = -(-slice_count(channels, target) // tile.slices)
    tiles = columns * blocks * batch
    group = (target.device.heavy_group // PARTS, PARTS, 1)
    return [
        Launch(
            "conv/conv_1x1_split.jinja",
            (-(-tiles // group[0]) * group[0], PARTS, 1),
            {"x": op.operand(0)},
            {"y": op.output},
            {
                "bias": bias_slices(op, channels, target, tile.slices),
                "weights": pack_weights(weights, tile.slices, target),
            },
            {
                "tile": tile,
                "tiles": tiles,
                "columns": columns,
                "blocks": blocks,
                "inputs": weights.shape[3],
                "parts": PARTS,
            },
            group=group,
            batches=1,
            flatten=True,
            pairs=target.half_arithmetic,
            heavy=True,
            flops=2 * op.output.elements * prod(weights.shape[1:]),
        )
    ]
