"""Depthwise convolutions in half precision that load and store two pixels at once.

Two slices of halves are as many bits as a load takes. A work-item therefore computes two
neighbouring columns, which also share most of what they see. Sums are added up row by row, where
XNNPACK goes column by column; in half precision that does not show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op
from ..target import Target
from .base import (
    HALF_LANE,
    Launch,
    TileLimits,
    TileShape,
    Window,
    choose_tile,
    lane_of,
    slice_count,
)
from .depthwise_cost import COLUMNS, PairedColumns
from .weights import bias_slices

MAX_ROWS = 16
"""Rows of the output that it walks at most."""


def unsuited(op: Op, window: Window, target: Target) -> str | None:
    """Why a depthwise convolution cannot be computed so; None if it can."""
    if not (target.half_arithmetic and target.language.half_pair):
        return "pairs of pixels are only loaded in half precision, in languages that need to say so"
    if lane_of(op.operand(0), target) != HALF_LANE:
        return "its input is not stored in half precision"
    if window.dilation_x > 1 or window.dilation_y > 1:
        return "the pixels that two columns see are not neighbours"
    if PairedColumns(window).step(1, 1, 1, target, False).spills:
        return "its weights and sums would take too many registers"
    return None


def build(
    op: Op, window: Window, packed: Array, target: Target, shape: TileShape | None
) -> Sequence[Launch]:
    """The launch; `packed` has the weights as [slice][row][column][lane]."""
    batch, height, width, channels = op.output.shape
    count, columns = slice_count(channels, target), -(-width // COLUMNS)
    limits = TileLimits(MAX_ROWS, 1)
    outer = columns * batch * count
    tile = choose_tile(height, outer, 1, target, shape, limits=limits, work=PairedColumns(window))
    bias = bias_slices(op, channels, target).reshape(count, 1, target.lanes)
    taps = np.concatenate((bias, packed.reshape(count, -1, target.lanes)), axis=1)
    even = np.pad(taps, ((0, 0), (0, taps.shape[1] % 2), (0, 0)))
    return [
        Launch(
            "conv/depthwise_conv_pairs.jinja",
            (columns, -(-height // tile.pixels), batch * count),
            {"x": op.operand(0)},
            {"y": op.output},
            {"weights": even},
            {"window": window, "tile": tile},
            joined={"x": COLUMNS, "y": COLUMNS},
            pairs=True,
            heavy=True,
            flops=2 * op.output.elements * window.height * window.width,
        )
    ]
