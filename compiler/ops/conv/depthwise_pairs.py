"""Depthwise convolutions in half precision that load and store two pixels at once.

Two slices of halves are as many bits as a load takes. A work-item therefore computes two
neighbouring columns, which also share most of what they see. Sums are added up row by row, where
XNNPACK goes column by column; in half precision that does not show.
"""

from dataclasses import dataclass

import numpy as np

from ...ir import Array, Op
from ...target import Target
from ..base.choose_tile import TileLimits, choose_tile
from ..base.cost import BESIDES, Step, Work
from ..base.launch import Launch
from ..base.storage import HALF_LANE, lane_of, slice_count
from ..base.tile import Area, Tile, TileShape
from ..base.window import Window
from ..layers.weights import bias_slices

COLUMNS = 2  # Columns of the output that a work-item computes if pixels are loaded in pairs.
MAX_ROWS = 16  # Rows of the output that it walks at most.


@dataclass(frozen=True)
class PairedColumns(Work):
    """Two neighbouring columns in half precision, the window of which a loop walks row by row."""

    window: Window

    def step(self, tile: Tile, area: Area, target: Target) -> Step:
        """Weights stay packed, two halves a register, and so does what is loaded."""
        window, lanes = self.window, target.lanes
        taps = window.height * window.width
        behind = (window.height - 1) // window.stride_y
        rows = tile.pixels + behind
        seen = len(range(-window.left // 2 * 2, window.stride_x + window.width - window.left, 2))
        products = rows * COLUMNS * taps
        loads = rows * window.stride_y * seen + (taps + 2) // 2
        kept = behind * COLUMNS * (lanes // 2 if target.device.paired_halves else lanes)
        registers = kept + (1 + taps) * lanes // 2 + seen * lanes + BESIDES
        cost = products + target.device.load_cost * (loads + tile.pixels)
        return Step(products, loads, cost, registers, target.device.registers)


def unsuited(op: Op, window: Window, target: Target) -> str | None:
    """Why a depthwise convolution cannot be computed so; None if it can."""
    if not (target.half_arithmetic and "pairs" in target.language.elements):
        return "pairs of pixels are only loaded in half precision, in languages that need to say so"
    if lane_of(op.operand(0), target) != HALF_LANE:
        return "its input is not stored in half precision"
    if window.dilation_x > 1 or window.dilation_y > 1:
        return "the pixels that two columns see are not neighbours"
    if PairedColumns(window).step(Tile(1, 1), Area(1, 1), target).spills:
        return "its weights and sums would take too many registers"
    return None


def build(
    op: Op, window: Window, packed: Array, target: Target, wanted: TileShape | None
) -> Launch:
    """The launch; `packed` has the weights as [slice][row][column][lane]."""
    batch, height, width, channels = op.output.shape
    count, columns = slice_count(channels, target), -(-width // COLUMNS)
    limits = TileLimits(MAX_ROWS, 1)
    turned = Area(height, columns, batch * count)
    tile = choose_tile(turned, target, wanted, limits=limits, work=PairedColumns(window))
    bias = bias_slices(op, channels, target).reshape(count, 1, target.lanes)
    taps = np.concatenate((bias, packed.reshape(count, -1, target.lanes)), axis=1)
    even = np.pad(taps, ((0, 0), (0, taps.shape[1] % 2), (0, 0)))
    return Launch.of(
        op,
        "conv/depthwise_conv_pairs.jinja",
        (columns, -(-height // tile.pixels), batch * count),
        constants={"weights": even},
        variables={"window": window, "tile": tile},
        joined={"x": COLUMNS, "y": COLUMNS},
        pairs=True,
        heavy=True,
        flops=2 * op.output.elements * window.height * window.width,
    )
