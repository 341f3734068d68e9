"""Convolutions of few output channels, as at the end of networks that compute pictures.

Input channels are in the lanes, where output channels would leave most of them idle; the lanes are
summed at the end. The order of summation therefore differs from XNNPACK's.
"""

from math import prod

import numpy as np

from ...ir import Op
from ...target import Target
from ..base.choose_tile import choose_tile
from ..base.cost import LANES
from ..base.launch import Launch
from ..base.storage import pack_slices
from ..base.tile import Area, TileShape, epilogue_operands
from ..base.window import Window
from ..layers.weights import bias_slices

THIN = 4  # Output channels are few if they fill at most one in this many lanes of a slice.


def unsuited(op: Op, window: Window, target: Target) -> str | None:
    """Why a convolution of one group does not gain by this; None if it does."""
    outputs, inputs = op.operand(1).shape[0], op.operand(1).shape[3]
    if outputs > target.lanes // THIN:
        return f"{outputs} output channels are not few"
    if window.pointwise:
        return "a 1x1 window gains little"
    if inputs < target.lanes:
        return f"{inputs} input channels do not fill a slice"
    return None


def build(op: Op, window: Window, target: Target, wanted: TileShape | None) -> Launch:
    """Its launch, whose work-items compute a tile of pixels with all output channels."""
    batch, height, width, outputs = op.output.shape
    area = Area(width, height, batch, sums=outputs, operands=epilogue_operands(op))
    tile = choose_tile(area, target, wanted, work=LANES)
    weights = op.constant(1)
    by_tap = pack_slices(weights, target.lanes).transpose(2, 3, 1, 0, 4)
    # The lanes are summed at the end, so only lane 0 starts from the bias.
    bias = np.zeros((outputs, target.lanes), np.float32)
    bias[:, 0] = bias_slices(op, outputs, target).reshape(-1)[:outputs]
    return Launch.of(
        op,
        "conv/conv_thin.jinja",
        area.grid(tile),
        constants={"bias": bias, "weights": np.ascontiguousarray(by_tap)},
        variables={"tile": tile, "window": window, "outputs": outputs},
        heavy=True,
        flops=2 * op.output.elements * prod(weights.shape[1:]),
    )
