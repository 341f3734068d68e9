"""Winograd's algorithm for 3x3 convolutions, F(4x4, 3x3): a quarter of the multiplications.

    output = A^T (G weights G^T * B^T input B) A    for each square of 4x4 outputs, 6x6 inputs

Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015. The points are 0, +-a,
+-b and infinity with a * b = 1, as in LiteRT's GPU delegate (common/winograd_util.cc); of thirteen
pairs (a, b) none had smaller errors with 128 and 512 channels. Largest error relative to the
largest output, measured with normally distributed inputs on PoCL:

    channels                                    32      64      128     256     512
    Winograd against LiteRT                     9.1e-7  1.7e-6  1.4e-6  2.5e-6  3.9e-6
    Winograd against double precision           9.0e-7  1.5e-6  1.4e-6  2.6e-6  3.8e-6
    direct kernel against double precision      5.0e-7  7.9e-7  8.1e-7  1.4e-6  2.0e-6

With a = 1 and b = 2 the errors are four to five times larger.

The steps are separate kernels for many work-items or many weights:

    terms = tflgpu.winograd_input(image)                [batch, 36, squares, inputs]
    sums  = tflgpu.winograd_product(terms, weights)     [batch, 36, squares, outputs]
    image = tflgpu.winograd_output(sums, none, bias)    [batch, rows, columns, outputs]

The attribute `window` of the first is the convolution's, `size` the rows and columns of the result.
The weights are the convolution's [outputs, 3, 3, inputs]; the kernel reads them transformed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.choose_tile import choose_tile
from ..base.cost import IN_ROWS
from ..base.definition import Implementation, TiledImplementation, define
from ..base.launch import Launch
from ..base.storage import slice_count
from ..base.tile import Area, Tile, TileShape
from ..base.window import Window
from ..layers.weights import PackedWeights, bias_slices

A = 0.5**0.5
B = 2**0.5
TERMS = 36  # Products per square, one for each pair of points.
SIDE = 4  # Rows and columns of a square of outputs.
MIN_SQUARES = 4  # Fewest squares of a work-item that are worth loading four times as many weights.


def squares(op: Op) -> int:
    """The number of squares that cover one image of the output."""
    _, height, width, _ = op.output.shape
    return -(-height // SIDE) * -(-width // SIDE)


def unsuited(op: Op, window: Window, target: Target) -> str | None:
    """Why Winograd's algorithm does not suit an ungrouped convolution; None if it does."""
    if op.attrs.get("exact"):
        return "sums of integers must be exact"
    if window.height != 3 or window.width != 3:
        return "the window is not 3x3"
    if max(window.stride_y, window.stride_x, window.dilation_y, window.dilation_x) > 1:
        return "the window has a stride or dilation"
    if not target.device.winograd_channels:
        return f"it does not pay on {target.device.name}"
    _, height, width, outputs = op.output.shape
    inputs = op.operand(0).shape[3]
    if min(inputs, outputs) < target.device.winograd_channels:
        return f"{inputs} input and {outputs} output channels are too few"
    count = squares(op)
    if count < target.device.winograd_squares:
        return f"{count} squares of 4x4 outputs are too few"
    if 2 * height * width < count * SIDE**2:
        return "most of each square of 4x4 outputs would be outside the image"
    return None


def _room(op: Op, target: Target) -> int:
    """Squares whose intermediate values fit in a work-group's local memory."""
    channels = slice_count(op.operand(0).shape[3], target)
    blocks = min(slice_count(op.output.shape[3], target), target.device.tile_slices)
    return target.device.local_memory // (4 * TERMS * (channels + blocks) * target.lanes)


def separate_steps(op: Op, target: Target) -> str | None:
    """Why the steps have to be separate kernels; None if one kernel does all of them.

    One kernel loads all weights again for the squares of each work-item. Where there are more of
    them than terms and sums of all squares, these had better be stored. The share of a layer's time
    that separate steps take with 2 cores (AVX-512, Zen 5), for as many outputs as inputs:

        image               14x14               20x20               28x28               40x40
        channels     128    192    256    128    256     96    128    256     64    128
        PoCL        0.89   0.94   0.78   1.01   0.91   1.00   0.72   0.95   1.03   1.07
        Intel's     0.85   0.86   0.81   0.95   0.86   1.00   0.94   0.95   1.08   1.07
    """
    if not target.on_processor:
        return "a work-item cannot use all local memory of its work-group"
    batch, _, _, outputs = op.output.shape
    inputs = op.operand(0).shape[3]
    if _room(op, target) < MIN_SQUARES:
        return f"{MIN_SQUARES} squares of {inputs} channels do not fit in local memory"
    if not target.half and batch * squares(op) * (inputs + outputs) < inputs * outputs:
        return "the weights take more memory than the terms and sums of all squares"
    return None


def strips(op: Op, target: Target) -> Area:
    """The output as squares, strips of which are computed by a work-item."""
    batch, _, _, channels = op.output.shape
    return Area(squares(op), 1, batch, slice_count(channels, target))


def choose_strip(op: Op, target: Target, wanted: TileShape | None) -> Tile:
    """Squares per work-item, times the slices of output channels it accumulates at a time."""
    return choose_tile(strips(op, target), target, wanted, most=_room(op, target))


@dataclass(frozen=True, eq=False)
class TransformedWeights:
    """OHWI weights of 3x3 windows transformed to [output][6][6][input], float32.

    They are computed when they are asked for, since they are four times as large.
    """

    weights: Array

    @property
    def shape(self) -> Shape:
        outputs, _, _, inputs = self.weights.shape
        return outputs, SIDE + 2, SIDE + 2, inputs

    def __getitem__(self, channels: slice) -> Array:
        """The weights of some output channels."""
        rows: list[Sequence[float]] = [(1, 0, 0)]
        for near, far in ((A, B), (B, A)):
            share = 1 / (2 * near**2 * (near**2 - far**2))
            rows += [(share, sign * near * share, near**2 * share) for sign in (1, -1)]
        matrix = np.array([*rows, (0, 0, 1)])
        weights = self.weights[channels].astype(np.float64)
        return np.asarray(np.einsum("iy,oyxc,jx->oijc", matrix, weights, matrix), np.float32)


INPUT = "tflgpu.winograd_input"
PRODUCT = "tflgpu.winograd_product"
OUTPUT = "tflgpu.winograd_output"


def _squares(op: Op) -> tuple[int, int]:
    """Rows and columns of squares of outputs."""
    height, width = op.attrs["size"]
    return -(-height // SIDE), -(-width // SIDE)


def _infer_input(op: Op) -> list[Shape]:
    down, across = _squares(op)
    batch, _, _, channels = op.operand(0).shape
    return [(batch, TERMS, down * across, channels)]


def _infer_output(op: Op) -> list[Shape]:
    batch, _, _, channels = op.operand(0).shape
    return [(batch, *op.attrs["size"], channels)]


def _build_input(op: Op, target: Target) -> Launch:
    down, across = _squares(op)
    batch, _, _, channels = op.operand(0).shape
    return Launch.of(
        op,
        "conv/winograd_input.jinja",
        (across, down, batch * slice_count(channels, target)),
        variables={"across": across, "window": op.attrs["window"], "a": A, "b": B},
        heavy=True,
        flops=4 * op.output.elements,
    )


def _build_product(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    batch, terms, squares, channels = op.output.shape
    weights = TransformedWeights(op.constant(1))
    area = Area(squares, terms, batch, slice_count(channels, target))
    tile = choose_tile(area, target, wanted, work=IN_ROWS)
    return Launch.of(
        op,
        "conv/winograd_product.jinja",
        area.grid(tile),
        constants={"weights": PackedWeights(weights, tile.slices, target.lanes)},
        variables={"tile": tile, "blocks": area.blocks(tile), "inputs": weights.shape[3]},
        heavy=True,
        flops=2 * batch * squares * prod(weights.shape),
    )


def _build_output(op: Op, target: Target) -> Launch:
    down, across = _squares(op)
    batch, _, _, channels = op.output.shape
    return Launch.of(
        op,
        "conv/winograd_output.jinja",
        (across, down, batch * slice_count(channels, target)),
        constants={"bias": bias_slices(op, channels, target)},
        variables={"across": across, "a": A, "b": B},
        heavy=True,
        flops=4 * op.operand(0).elements,
    )


define(INPUT, _infer_input, (Implementation("winograd_input", _build_input, fuses=False),))
define(
    PRODUCT,
    lambda op: [(*op.operand(0).shape[:3], op.operand(1).shape[0])],
    (TiledImplementation("winograd_product", _build_product, fuses=False),),
)
define(OUTPUT, _infer_output, (Implementation("winograd_output", _build_output),))
