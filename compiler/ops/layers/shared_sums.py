"""Layers of few pixels, in which several work-items share the sums of a tile.

Deep layers have so few pixels that tiles would have to be small for a GPU to have enough of them,
and small tiles load more for each multiply-add. Instead the work-items along the second axis of a
group each add up a part of the input channels for a large tile, over the whole window. Then each
joins some sums of all: at once, or, where local memory is cleared first, which takes the longer the
more there is, a few that they hand on in a ring. The order of summation therefore differs from
XNNPACK's.
"""

from dataclasses import replace
from math import prod

from ...ir import Op
from ...target import Target
from ..base.choose_tile import choose_tile
from ..base.cost import MASKED_SLICES, Loads
from ..base.definition import window_of
from ..base.images import flattens
from ..base.launch import Launch
from ..base.storage import bhwc
from ..base.tile import Area, Tile, TileShape, epilogue_operands
from ..base.window import Window
from ..reduce.lines import SEATS
from .weights import layer_constants, ohwi, sharing

# The window of fully connected layers, which are 1x1 convolutions.
PIXEL = Window(1, 1, 1, 1, 1, 1, 0, 0, 0, 0)
PARTS = (4, 8, 16)  # How many work-items may share the sums of a tile.
NEIGHBOURS = 4  # Fewest tiles of a group, which share what they load.
GAIN = 0.9  # Share of the estimated time that remains, at most; the rest pays for joining the sums.
RING_GAIN = 0.7  # The same where sums are handed on in a ring, with a barrier for each part.
FIRST_RING_GAIN = 0.5  # The same again, against sums that are not shared and need no barriers.


def unsuited(op: Op, target: Target) -> str | None:
    """Why sharing the sums of a layer of one group does not pay; None if it does."""
    inputs = op.operand(1).shape[-1]
    if target.on_processor or not target.device.shared_sums:
        return "work-items of the device do not gain by sharing sums"
    if target.device.heavy_group < PARTS[0] * NEIGHBOURS:
        return "the device's work-groups are too small to share sums"
    if inputs % target.lanes:
        return f"its {inputs} input channels are not whole slices"
    if _steps(op, target) < PARTS[0] ** 2 or inputs < target.lanes * PARTS[0]:
        return f"its {inputs} input channels are too few to share their sums"
    if _parts(op, target) == 1:
        return "the device is busy without sharing sums, or has too little local memory"
    return None


def _steps(op: Op, target: Target) -> int:
    """Slices of input channels of which the sums of a pixel are made."""
    window = window_of(op) or PIXEL
    return window.height * window.width * (op.operand(1).shape[-1] // target.lanes)


def _parts(op: Op, target: Target) -> int:
    """How many work-items share the sums of a tile: as few as take about the least time."""
    slices, most = op.operand(1).shape[-1] // target.lanes, target.device.heavy_group // NEIGHBOURS
    best, least = 1, _tile(op, target, None, 1).estimate
    rings = target.language.clears_local_memory
    for parts in PARTS:
        # With fewer steps than others' sums to join, joining would take as long as the steps.
        if parts > min(slices, most) or parts**2 > _steps(op, target):
            break
        tile = _tile(op, target, None, parts)
        time = tile.estimate * -(-slices // parts) / slices
        gain = (FIRST_RING_GAIN if best == 1 else RING_GAIN) if rings else GAIN
        if time <= gain * least and _shared(tile, parts, target) <= target.device.local_memory:
            best, least = parts, time
    return best


def _flat(op: Op) -> bool:
    """Whether height and width are one axis."""
    return (window_of(op) or PIXEL).pointwise and flattens(op)


def _area(op: Op, target: Target) -> Area:
    return Area.of(op, target, _flat(op), operands=epilogue_operands(op))


def _tile(op: Op, target: Target, wanted: TileShape | None, parts: int) -> Tile:
    area, seen = _area(op, target), bhwc(op.operand(0).shape)[2]
    masked = not _flat(op) and any((window_of(op) or PIXEL).columns_beyond(seen, area.columns))
    work = MASKED_SLICES if masked else Loads(shifted=True, gated=op.input(3) is not None)
    area = replace(area, rows=area.rows * parts)
    return choose_tile(area, sharing(op, target), wanted, work=work)


def _shared(tile: Tile, parts: int, target: Target) -> int:
    """Bytes in which a group keeps what all parts have of the sums, or, in a ring, one has."""
    kept = _at_once(tile, parts, target) * (1 if _in_a_ring(tile, target) else parts)
    return target.device.heavy_group // parts * kept * target.lanes * 4


def _in_a_ring(tile: Tile, target: Target) -> bool:
    """Whether parts hand the sums of a tile on, rather than show each other all."""
    return target.language.clears_local_memory and tile.accumulators > 1


def _at_once(tile: Tile, parts: int, target: Target) -> int:
    """How many sums of a tile are kept at a time: all, or those with seats, one a part at most."""
    if not _in_a_ring(tile, target):
        return tile.accumulators
    return min(tile.accumulators, parts, max(SEATS // (target.device.heavy_group // parts), 1))


def build(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    """The launch for OHWI or [outputs, inputs] weights.

    Tiles of all rows and slices are numbered along the first axis, so that groups are full. Groups
    have a size of their own, as they share memory.
    """
    weights, parts = op.constant(1), _parts(op, target)
    tile, area = _tile(op, target, wanted, parts), _area(op, target)
    columns, *_ = grid = area.grid(tile)
    tiles = prod(grid)
    group = (target.device.heavy_group // parts, parts, 1)
    return Launch.of(
        op,
        "conv/conv_shared.jinja",
        (-(-tiles // group[0]) * group[0], parts, 1),
        reads={"x": op.operand(0), **({"gate": op.operand(3)} if op.input(3) else {})},
        constants=layer_constants(op, ohwi(weights), tile.slices, target),
        variables={
            "tile": tile,
            "tiles": tiles,
            "columns": columns,
            "blocks": area.blocks(tile),
            "window": window_of(op) or PIXEL,
            "inputs": weights.shape[-1],
            "parts": parts,
            "in_a_ring": _in_a_ring(tile, target),
            "at_once": _at_once(tile, parts, target),
        },
        group=group,
        batches=1,
        flatten=_flat(op),
        pairs=target.half_arithmetic,
        heavy=True,
        flops=2 * op.output.elements * prod(weights.shape[1:]),
    )
