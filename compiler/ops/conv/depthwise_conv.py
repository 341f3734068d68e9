"""DEPTHWISE_CONV_2D with one output channel per input channel; weights are 1HWC.

`rewrites/decompose/convolution.py` makes grouped convolutions of larger depth multipliers.
"""

from dataclasses import dataclass

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.choose_tile import TileLimits, choose_tile
from ..base.cost import ADDRESS, BESIDES, Step, Work, stored_registers
from ..base.definition import Implementation, TiledImplementation, define
from ..base.images import one_column
from ..base.launch import Grid, Launch
from ..base.storage import pack_slices, slice_count
from ..base.tile import Area, Tile, TileShape, epilogue_operands
from ..base.traits import Traits, Weights
from ..base.window import MOST_TAPS, Window
from ..layers.weights import bias_slices, check_bias, computed_weights
from . import depthwise_pairs
from .conv import window

# DEPTHWISE_CONV_2D with computed weights, of one output channel per input channel, as in trackers.
CORRELATION = "tflgpu.correlation"

MAX_PIXELS = 8  # Adjacent pixels that a work-item computes at most.
# Rows of the image that a work-item walks at most: compilers load those of a column ahead.
MAX_SEEN = 11
FEW_ROWS = 4  # Pixels below each other where the profile does not say how many registers there are.
# Fewer slices than this part of the work-items that keep a processor busy leave cores idle.
FEW_SLICES = 4


@dataclass(frozen=True)
class SingleColumn(Work):
    """A column of the output, with the window walked column by column.

    Each pixel below the first one adds as many loads as its window moves down, and a store.
    """

    window: Window

    def step(self, tile: Tile, area: Area, target: Target) -> Step:
        """Weights of a column of the window are held, a pixel and the next one, and where operands
        of the epilogue lie, which is not where the result does.
        """
        window, device, pixels = self.window, target.device, tile.pixels
        rows = (pixels - 1) * window.stride_y + (window.height - 1) * window.dilation_y + 1
        products = pixels * window.height * window.width
        loads = window.width * (rows + window.height) + 1
        paired = self.in_half(target) and device.paired_halves
        wide = target.lanes // 2 if paired else target.lanes
        addresses = ADDRESS * ((pixels if area.ragged(tile) else 0) + (area.operands > 0))
        multiplying = wide * (pixels + window.height + 2) + addresses + BESIDES
        registers = max(multiplying, stored_registers(pixels, wide, area.operands, target))
        cost = products + device.load_cost * (loads + pixels)
        return Step(products, loads, cost, registers, device.registers)


def row_tile(width: int) -> int:
    """Pixels of the equal tiles in which a work-item walks an output row of `width` pixels."""
    return -(-width // -(-width // MAX_PIXELS))


def infer(op: Op) -> list[Shape]:
    """The NHWC output shape; ModelError if weights, bias and channels do not match."""
    image, weights = op.operand(0).shape, op.operand(1).shape
    if len(image) != 4 or len(weights) != 4 or weights[0] != 1:
        raise op.invalid(
            f"input {list(image)} and weights {list(weights)} must have rank 4, and the weights "
            f"must start with 1"
        )
    if not image[3] or not weights[3] or weights[3] % image[3]:
        raise op.invalid(
            f"{weights[3]} output channels are not a multiple of {image[3]} input channels"
        )
    check_bias(op, weights[3])
    rows, columns = window(op).output(op, *image[1:3])
    return [(image[0], rows, columns, weights[3])]


def pack_weights(op: Op, target: Target) -> Array:
    """1HWC weights as [slice][row][column][lane], float32."""
    return np.asarray(pack_slices(op.constant(1), target.lanes)[0])


def _one_to_one(op: Op, target: Target) -> str | None:
    if op.operand(1).shape[3] != op.operand(0).shape[3]:
        return "it has several output channels per input channel"
    return computed_weights(op)


def _build(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    batch, height, width, channels = op.output.shape
    area = Area(width, height, batch * slice_count(channels, target))
    # The window is unrolled into a line of code per tap and pixel; long tiles compile slowly.
    tile = choose_tile(area, target, wanted, most=MAX_PIXELS)
    return _launch("conv/depthwise_conv.jinja", op, area.grid(tile), target, tile=tile)


def _launch(
    template: str, op: Op, grid: Grid, target: Target, *, turned: bool = False, **variables: object
) -> Launch:
    """`turned` asks for an image of one column as a row."""
    shape, weights = window(op), op.operand(1)
    computed = {} if weights.constant else {"weights": weights}
    packed = {"weights": pack_weights(op, target)} if weights.constant else {}
    return Launch.of(
        op,
        template,
        grid,
        reads={"x": op.operand(0), **computed},
        constants={"bias": bias_slices(op, op.output.shape[3], target), **packed},
        variables={
            "window": shape.turned if turned else shape,
            "computed": bool(computed),
            **variables,
        },
        heavy=True,
        flatten=turned,
        flops=2 * op.output.elements * shape.height * shape.width,
    )


def _by_columns(op: Op, target: Target) -> str | None:
    """What is loaded once serves several taps, which pays where loads are dear."""
    if target.on_processor:
        return "depthwise_conv_rows loads even less"
    if not window(op).written_out:
        return f"a window of more than {MOST_TAPS} taps is too long to be written out"
    return _one_to_one(op, target)


def _build_columns(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    batch, height, width, channels = op.output.shape
    outer = batch * slice_count(channels, target)
    shape = window(op)
    seen = (shape.height - 1) * shape.dilation_y + 1
    rows = max((MAX_SEEN - seen) // shape.stride_y + 1, 1) if target.device.registers else FEW_ROWS
    limits = TileLimits(min(rows, target.device.accumulators), 1)
    turned = Area(height, width, outer, operands=epilogue_operands(op))
    tile = choose_tile(turned, target, wanted, limits=limits, work=SingleColumn(shape))
    grid = (width, -(-height // tile.pixels), outer)
    return _launch("conv/depthwise_conv_columns.jinja", op, grid, target, tile=tile)


def _by_pairs(op: Op, target: Target) -> str | None:
    """A pair of pixels is one load."""
    return _one_to_one(op, target) or depthwise_pairs.unsuited(op, window(op), target)


def _build_pairs(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    return depthwise_pairs.build(op, window(op), pack_weights(op, target), target, wanted)


def _for_processors(op: Op, target: Target) -> str | None:
    """Each vector of a row is loaded only once, which pays there."""
    return None if target.on_processor else "neighbouring work-items would read addresses far apart"


def _by_rows(op: Op, target: Target) -> str | None:
    return _for_processors(op, target) or _one_to_one(op, target)


def _build_rows(op: Op, target: Target) -> Launch:
    """Images of one column are rows, too, if their slices keep the device busy."""
    batch, height, width, channels = op.output.shape
    outer = batch * slice_count(channels, target)
    busy = FEW_SLICES * outer >= target.device.work_items
    turned = op.operand(1).constant and one_column(op) and busy
    height, width = (1, height) if turned else (height, width)
    template, pixels = "conv/depthwise_conv_rows.jinja", row_tile(width)
    return _launch(template, op, (1, height, outer), target, turned=turned, tap_pixels=pixels)


IMPLEMENTATIONS = (
    Implementation("depthwise_conv_rows", _build_rows, _by_rows, half_arithmetic=True),
    TiledImplementation("depthwise_conv_pairs", _build_pairs, _by_pairs, half_arithmetic=True),
    TiledImplementation(
        "depthwise_conv_columns", _build_columns, _by_columns, half_arithmetic=True
    ),
    TiledImplementation("depthwise_conv", _build, _one_to_one, half_arithmetic=True),
)

define(
    "DEPTHWISE_CONV_2D input filter:weights bias? -> output",
    infer,
    IMPLEMENTATIONS,
    note="several output channels for each input channel are groups of a CONV_2D",
    versions=7,
    traits=Traits(weights=Weights(3, input_axis=3, summed_axes=(0, 1, 2)), window=window),
)
define(
    CORRELATION,
    infer,
    (
        Implementation("depthwise_conv_rows", _build_rows, _for_processors, half_arithmetic=True),
        TiledImplementation("depthwise_conv", _build, half_arithmetic=True),
    ),
)
