"""The steps of Winograd's algorithm as separate kernels, for many work-items or many weights.

    terms = tflgpu.winograd_input(image)                [batch, 36, squares, inputs]
    sums  = tflgpu.winograd_product(terms, weights)     [batch, 36, squares, outputs]
    image = tflgpu.winograd_output(sums, none, bias)    [batch, rows, columns, outputs]

The attribute `window` of the first is the convolution's, `size` the rows and columns of the result.
The weights are the convolution's [outputs, 3, 3, inputs]; the kernel reads them transformed.
"""

from __future__ import annotations

from math import prod

from ..ir import Op, Shape
from ..target import Target
from . import winograd
from .base import (
    IN_ROWS,
    Implementation,
    Launch,
    TiledImplementation,
    TileShape,
    choose_tile,
    define,
    slice_count,
)
from .weights import bias_slices, pack_weights

INPUT = "tflgpu.winograd_input"
PRODUCT = "tflgpu.winograd_product"
OUTPUT = "tflgpu.winograd_output"


def _squares(op: Op) -> tuple[int, int]:
    """Rows and columns of squares of outputs."""
    height, width = op.attrs["size"]
    return -(-height // winograd.SIDE), -(-width // winograd.SIDE)


def _infer_input(op: Op) -> list[Shape]:
    down, across = _squares(op)
    batch, _, _, channels = op.operand(0).shape
    return [(batch, winograd.TERMS, down * across, channels)]


def _infer_product(op: Op) -> list[Shape]:
    return [(*op.operand(0).shape[:3], op.operand(1).shape[0])]


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
        variables={
            "across": across,
            "window": op.attrs["window"],
            "a": winograd.A,
            "b": winograd.B,
        },
        heavy=True,
        flops=4 * op.output.elements,
    )


def _build_product(op: Op, target: Target, shape: TileShape | None) -> Launch:
    batch, terms, squares, channels = op.output.shape
    weights = winograd.TransformedWeights(op.constant(1))
    count = slice_count(channels, target)
    tile = choose_tile(squares, terms * batch, count, target, shape, work=IN_ROWS)
    blocks = -(-count // tile.slices)
    return Launch.of(
        op,
        "conv/winograd_product.jinja",
        (-(-squares // tile.pixels), terms, batch * blocks),
        constants={"weights": pack_weights(weights, tile.slices, target)},
        variables={"tile": tile, "blocks": blocks, "inputs": weights.shape[3]},
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
        variables={"across": across, "a": winograd.A, "b": winograd.B},
        heavy=True,
        flops=4 * op.operand(0).elements,
    )


define(INPUT, _infer_input, (Implementation("winograd_input", _build_input, fuses=False),))
define(
    PRODUCT, _infer_product, (TiledImplementation("winograd_product", _build_product, fuses=False),)
)
define(OUTPUT, _infer_output, (Implementation("winograd_output", _build_output),))
