"""TRANSPOSE_CONV, and MediaPipe's Convolution2DTransposeBias, which has other operands.

Each output pixel gathers the input pixels whose window covers it. Weights are OHWI.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from ...ir import Op, Shape, Tensor
from ...target import Target
from ..base.choose_tile import choose_tile
from ..base.cost import MASKED_SLICES
from ..base.definition import TiledImplementation, define
from ..base.launch import Constant, Grid, Launch
from ..base.storage import slice_count
from ..base.tile import Area, TileShape, epilogue_operands
from ..base.traits import Traits, Weights
from ..base.window import Window
from ..layers.weights import bias_slices, check_bias, computed_weights, layer_constants
from .transpose_conv_phases import Phases, pack_phases, pack_thin


def input_image(op: Op) -> Tensor:
    return op.operand(2 if op.name == "TRANSPOSE_CONV" else 0)


def bias_position(op: Op) -> int:
    """The position of the bias; TRANSPOSE_CONV has one input more, the output shape."""
    return 3 if op.name == "TRANSPOSE_CONV" else 2


def _output_size(op: Op) -> tuple[int, int]:
    """Rows and columns of the output: input 0 or, for the custom operator, by its padding."""
    height, width = op.operand(1).shape[1:3]
    rows, columns = input_image(op).shape[1:3]
    if op.name == "TRANSPOSE_CONV":
        size = op.integers(0)
        if len(size) != 4:
            raise op.invalid(f"the output shape {size} must have rank 4")
        return size[1], size[2]
    stride_y, stride_x = op.attrs.get("stride_h", 1), op.attrs.get("stride_w", 1)
    if op.attrs.get("padding", "SAME") == "SAME":
        return rows * stride_y, columns * stride_x
    return (rows - 1) * stride_y + height, (columns - 1) * stride_x + width


def _input_size(op: Op, rows: int, columns: int) -> tuple[int, int]:
    """Rows and columns that a convolution makes of the output, which must be the input's."""
    valid = op.attrs.get("padding", "SAME") == "VALID"
    height, width = op.operand(1).shape[1:3] if valid else (1, 1)
    stride_y, stride_x = op.attrs.get("stride_h", 1), op.attrs.get("stride_w", 1)
    return (rows - height) // stride_y + 1, (columns - width) // stride_x + 1


def infer(op: Op) -> list[Shape]:
    shape, weights = input_image(op).shape, op.operand(1).shape
    if len(shape) != 4 or len(weights) != 4 or shape[3] != weights[3] or not prod(weights):
        raise op.invalid(f"input {list(shape)} does not match weights {list(weights)}")
    check_bias(op, weights[0], bias_position(op))
    rows, columns = _output_size(op)
    if rows < 1 or columns < 1 or op.attrs.get("stride_h", 1) < 1 or op.attrs["stride_w"] < 1:
        raise op.invalid(f"the output of {rows}x{columns} is empty, or a stride is less than 1")
    needed = _input_size(op, rows, columns)
    if needed != shape[1:3]:
        needs = f"an output of {rows}x{columns} needs an input of {needed[0]}x{needed[1]}"
        raise op.invalid(f"{needs}, not of {shape[1]}x{shape[2]}")
    return [(shape[0], rows, columns, weights[0])]


def window(op: Op) -> Window:
    """The window of the forward convolution from output to input."""
    attrs = op.attrs
    height, width = op.operand(1).shape[1:3]
    rows, columns = op.output.shape[1:3]
    stride_y, stride_x = attrs["stride_h"], attrs["stride_w"]

    def before(size: int, kernel: int, stride: int, inputs: int) -> int:
        if attrs.get("padding", "SAME") == "VALID":
            return 0
        return max((inputs - 1) * stride + kernel - size, 0) // 2

    top = before(rows, height, stride_y, input_image(op).shape[1])
    left = before(columns, width, stride_x, input_image(op).shape[2])
    return Window(height, width, stride_y, stride_x, 1, 1, top, 0, left, 0)


def _constant(op: Op, target: Target) -> str | None:
    return computed_weights(op, (1, bias_position(op)))


def _build(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    batch, height, _, channels = op.output.shape
    shape, phases = window(op), by_phases(op)
    count, operands = slice_count(channels, target), epilogue_operands(op)
    # Columns a stride apart are a row of their own.
    area = Area(phases.columns, height * shape.stride_x, batch, count, operands=operands)
    tile = choose_tile(area, target, wanted, work=MASKED_SLICES)
    columns, _, outer = area.grid(tile)
    return _launch(
        op,
        "transpose_conv/transpose_conv.jinja",
        (columns * shape.stride_x, height, outer),
        layer_constants(op, op.constant(1), tile.slices, target, bias_position(op)),
        {"tile": tile, "blocks": area.blocks(tile), "window": shape, "first": phases.first_column},
    )


def by_phases(op: Op) -> Phases:
    return Phases(window(op), *op.output.shape[1:3])


def _thin(op: Op, target: Target) -> str | None:
    channels = op.output.shape[3]
    if channels > target.device.transposed_thin:
        return f"{channels} output channels are more than {target.device.transposed_thin}"
    if channels > target.lanes:
        return f"{channels} output channels are more than a slice"
    phases = by_phases(op)
    vectors = slice_count(phases.count * channels, target)
    if vectors > target.device.accumulators:
        return f"{phases.count} output pixels per input pixel exceed the device's accumulators"
    products = phases.taps_down * phases.taps_across * vectors
    apart = prod(op.operand(1).shape[1:3]) * slice_count(channels, target)
    if products > apart:
        return f"phases in the lanes would need {products} slices of weights instead of {apart}"
    return _constant(op, target)


def _build_thin(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    batch, _, _, channels = op.output.shape
    weights, phases = op.constant(1), by_phases(op)
    vectors = slice_count(phases.count * channels, target)
    area = Area(phases.columns, phases.rows, batch, sums=vectors)
    tile = choose_tile(area, target, wanted)
    bias = np.zeros(vectors * target.lanes, np.float32)
    if op.input(bias_position(op)) is not None:
        own = op.constant(bias_position(op)).reshape(-1)
        bias[: phases.count * channels] = np.tile(own, phases.count)
    return _launch(
        op,
        "transpose_conv/transpose_conv_thin.jinja",
        area.grid(tile),
        {"bias": bias.reshape(vectors, -1), "weights": pack_thin(weights, phases, vectors, target)},
        {"tile": tile, "phases": phases, "part": phases.all_taps, "epilogue": op.epilogue},
    )


def _block(size: int) -> Callable[[Op, Target], str | None]:
    """The unsupported_reason of the kernel for windows of `size` x `size` with stride 2."""

    def reason(op: Op, target: Target) -> str | None:
        shape = window(op)
        if (shape.height, shape.width) != (size, size):
            return f"the window is not {size}x{size}"
        if (shape.stride_y, shape.stride_x) != (2, 2):
            return "the stride is not 2"
        if not target.device.transposed_blocks:
            return f"{target.device.name} is faster with one output pixel per work-item"
        return _constant(op, target)

    return reason


def _build_block(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    batch, _, _, channels = op.output.shape
    weights, phases = op.constant(1), by_phases(op)
    count = slice_count(channels, target)
    operands = epilogue_operands(op)
    area = Area(phases.columns, phases.rows, batch, count, phases.count, operands)
    tile = choose_tile(area, target, wanted)
    parts = list(phases.parts(weights.shape[3], tile.slices))
    return _launch(
        op,
        "transpose_conv/transpose_conv_block.jinja",
        area.grid(tile),
        {
            "bias": bias_slices(op, channels, target, tile.slices, bias_position(op)),
            "weights": pack_phases(weights, phases, tile.slices, target),
        },
        {
            "tile": tile,
            "blocks": area.blocks(tile),
            "phases": phases,
            "parts": parts,
            "block": prod(weights.shape[1:]) * tile.slices,
        },
    )


def _launch(
    op: Op,
    template: str,
    grid: Grid,
    constants: Mapping[str, Constant],
    variables: Mapping[str, Any],
) -> Launch:
    weights = op.operand(1).shape
    return Launch.of(
        op,
        template,
        grid,
        reads={"x": input_image(op)},
        constants=constants,
        variables={**variables, "inputs": weights[3]},
        heavy=True,
        flops=2 * input_image(op).elements * prod(weights[:3]),
    )


IMPLEMENTATIONS = (
    TiledImplementation("transpose_conv_thin", _build_thin, _thin),
    *(
        TiledImplementation(
            f"transpose_conv_block_{n}x{n}", _build_block, _block(n), half_arithmetic=True
        )
        for n in (2, 3, 4)
    ),
    TiledImplementation("transpose_conv", _build, _constant, half_arithmetic=True),
)

_SPREAD = "with strides, NaN and infinities may spread to pixels next to those they reach in LiteRT"

define(
    "TRANSPOSE_CONV shape:integer filter:weights input bias? -> output",
    infer,
    IMPLEMENTATIONS,
    versions=5,
    note=_SPREAD,
    traits=Traits(weights=Weights(0, input_axis=3, image=2, bias=3)),
)
define(
    "Convolution2DTransposeBias input filter:weights bias -> output",
    infer,
    IMPLEMENTATIONS,
    note=_SPREAD,
    traits=Traits(weights=Weights(0)),
)
