"""CONV_2D: each work-item computes a tile of adjacent pixels times slices of output channels.

The weights are packed in the order in which the kernel reads them:
[block of output slices][kernel row][kernel column][input channel][slice of the block][lane].

Input 3, if present, is a gate: a factor per channel that `fold_gate_into_conv` moved here.
"""

from dataclasses import replace
from math import prod

from ...ir import Op, Shape
from ...target import Target
from ..base.choose_tile import TileLimits, choose_tile
from ..base.cost import LANES, MASKED_SLICES, WHOLE_SLICES, Loads
from ..base.definition import Implementation, TiledImplementation, define
from ..base.images import flattens, one_column
from ..base.launch import Launch
from ..base.storage import LINEAR, slice_count
from ..base.tile import Area, Tile, TileShape, epilogue_operands
from ..base.traits import Traits, Weights
from ..base.window import Window
from ..layers import shared_sums
from ..layers.byte_products import WORD, byte_products, multiplies_bytes, words_in_rows
from ..layers.split_sums import split_sums, splits
from ..layers.weights import (
    WEIGHTS_AND_BIAS,
    bias_slices,
    check_bias,
    computed_weights,
    layer_constants,
    spread_groups,
    wide_sums,
)
from . import conv_thin, winograd


def window(op: Op) -> Window:
    """The window of a convolution, sized by its OHWI or 1HWC weights (ModelError)."""
    return Window.of(op, *op.operand(1).shape[1:3])


def groups(op: Op) -> int:
    return int(op.operand(0).shape[3]) // int(op.operand(1).shape[3])


def infer(op: Op) -> list[Shape]:
    """The NHWC output shape; ModelError if weights, bias and channels do not match."""
    image, weights = op.operand(0).shape, op.operand(1).shape
    if len(image) != 4 or len(weights) != 4 or not prod(weights):
        raise op.invalid(
            f"input {list(image)} and weights {list(weights)} must have rank 4, and the weights "
            f"must not be empty"
        )
    if image[3] % weights[3] or weights[0] % max(image[3] // weights[3], 1) or not image[3]:
        raise op.invalid(f"{image[3]} input channels do not match weights {list(weights)}")
    check_bias(op, weights[0])
    rows, columns = window(op).output(op, *image[1:3])
    return [(image[0], rows, columns, weights[0])]


def _pointwise(op: Op, target: Target) -> str | None:
    if not window(op).pointwise:
        return "the window is not 1x1"
    return _in_groups(op) or computed_weights(op, WEIGHTS_AND_BIAS) or wide_sums(op)


def _in_groups(op: Op) -> str | None:
    """Why kernels that read all channels cannot compute a convolution; None if it has one group."""
    return "the channels are split into groups" if groups(op) != 1 else None


def _aligned(op: Op, target: Target) -> str | None:
    """Input and output channels of each group must be whole slices."""
    inputs, outputs = op.operand(1).shape[3], op.operand(1).shape[0]
    parts = groups(op)
    if parts > 1 and (inputs % target.lanes or outputs // parts % target.lanes):
        return f"{parts} groups are not whole slices"
    return _ungated(op, target)


def _ungated(op: Op, target: Target) -> str | None:
    """Only conv_1x1 applies a gate to the channels it reads."""
    if op.input(3) is not None:
        return "only conv_1x1 multiplies its input by a gate"
    return computed_weights(op, WEIGHTS_AND_BIAS) or wide_sums(op)


def _few_outputs(op: Op, target: Target) -> str | None:
    return _in_groups(op) or conv_thin.unsuited(op, window(op), target) or _ungated(op, target)


def _flat(op: Op) -> bool:
    """Whether height and width are one axis."""
    return one_column(op) or (window(op).pointwise and flattens(op))


def _seen(op: Op) -> Window:
    """The window over rows and columns as kernels see them."""
    return window(op).turned if one_column(op) else window(op)


def _area(op: Op, target: Target) -> Area:
    return Area.of(op, target, _flat(op), operands=epilogue_operands(op))


def _launch(op: Op, target: Target, template: str, tile: Tile) -> Launch:
    weights, area = op.constant(1), _area(op, target)
    return Launch.of(
        op,
        template,
        area.grid(tile),
        reads={"x": op.operand(0), **({"gate": op.operand(3)} if op.input(3) else {})},
        constants=layer_constants(op, weights, tile.slices, target),
        variables={
            "tile": tile,
            "blocks": area.blocks(tile),
            "window": _seen(op),
            "inputs": weights.shape[3],
            "groups": groups(op),
            "beyond": False,
            "unit": target.lanes,
        },
        flatten=_flat(op),
        pairs=target.half_arithmetic and weights.shape[3] % target.lanes == 0,
        joined={"y": tile.pixels},
        heavy=True,
        flops=2 * op.output.elements * prod(weights.shape[1:]),
    )


def _build_pointwise(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    area = _area(op, target)
    gated = op.input(3) is not None
    work = Loads(shifted=True, pixel_pairs=area.columns % 2 == 0, gated=gated)
    tile = choose_tile(area, target, wanted, work=work)
    pixels = {"x": tile.pixels, "y": tile.pixels}
    return replace(_launch(op, target, "conv/conv_1x1.jinja", tile), joined=pixels)


def _few_pixels(op: Op, target: Target) -> str | None:
    many = prod(op.output.shape[:3]) * target.lanes > target.device.work_items
    if many and _few_outputs(op, target) is None:
        return "its output channels would leave most lanes idle, as conv_thin does not"
    reason = _in_groups(op) or computed_weights(op, WEIGHTS_AND_BIAS) or wide_sums(op)
    return reason or shared_sums.unsuited(op, target)


def _build_window(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    per_group = slice_count(op.output.shape[3] // groups(op), target)
    area = replace(_area(op, target), slices=per_group)
    work = MASKED_SLICES if _seen(op).width > 1 else WHOLE_SLICES
    tile = choose_tile(area, target, wanted, whole_blocks=groups(op) > 1, work=work)
    return _launch(op, target, "conv/conv.jinja", tile)


def _build_linear(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    tile = choose_tile(_area(op, target), target, wanted, work=LANES)
    launch = _launch(op, target, "conv/conv_linear.jinja", tile)
    variables = {**launch.variables, "one_path": target.language.compiled_at_start}
    return replace(launch, variables=variables, pairs=tile.slices % 2 == 0)


def _build_bytes(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    pointwise = window(op).pointwise
    return byte_products(op, target, None if pointwise else _seen(op), wanted)


def _bytes(op: Op, target: Target) -> str | None:
    return "it has a gate" if op.input(3) is not None else multiplies_bytes(op, target)


def _few_bytes(op: Op, target: Target) -> str | None:
    """Pixels of few channels would fill slices with zeros."""
    if op.operand(0).shape[3] >= WORD:
        return "its pixels fill words"
    return _bytes(op, target) or words_in_rows(op, target)


def _split_slices(op: Op, target: Target) -> str | None:
    """Groups share slices of channels."""
    if groups(op) == 1:
        return "the channels are not split into groups"
    return _ungated(op, target)


def _build_grouped(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    limits = TileLimits(target.device.accumulators, 1)
    work = MASKED_SLICES if _seen(op).width > 1 else WHOLE_SLICES
    tile = choose_tile(_area(op, target), target, wanted, limits=limits, work=work)
    spread = spread_groups(op.constant(1), groups(op), target)
    launch = _launch(op, target, "conv/conv.jinja", tile)
    inputs = {"inputs": spread.weights.shape[3], "beyond": spread.beyond, "unit": spread.unit}
    return replace(
        launch,
        constants=layer_constants(op, spread.weights, 1, target),
        variables={**launch.variables, **inputs},
    )


def _build_thin(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    return conv_thin.build(op, window(op), target, wanted)


def _one_pixel(op: Op, target: Target) -> str | None:
    """A 1x1 convolution of a single pixel is a matrix-vector product."""
    return _pointwise(op, target) or _ungated(op, target) or splits(op, target)


def _build_split(op: Op, target: Target) -> Launch:
    weights = op.constant(1)
    bias = bias_slices(op, weights.shape[0], target)
    return split_sums(op, target, bias, weights.reshape(weights.shape[0], -1))


def _winograd(op: Op, target: Target) -> str | None:
    reason = _in_groups(op) or _ungated(op, target) or winograd.unsuited(op, window(op), target)
    return reason or winograd.separate_steps(op, target)


def _from_rows(op: Op, target: Target) -> str | None:
    if _winograd(op, target) is None or _bytes(op, target) is None:
        return "another kernel is faster, even with a conversion to slices"
    if groups(op) > 1 or _seen(op).dilation_x > 1:
        return "the input values of a window row are not adjacent"
    return _ungated(op, target)


def _build_winograd(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    area = winograd.strips(op, target)
    tile = winograd.choose_strip(op, target, wanted)
    weights = winograd.TransformedWeights(op.constant(1))
    return Launch.of(
        op,
        "conv/winograd.jinja",
        (-(-area.columns // tile.pixels), 1, area.batches),
        constants=layer_constants(op, weights, tile.slices, target),
        variables={
            "tile": tile,
            "blocks": area.blocks(tile),
            "window": window(op),
            "a": winograd.A,
            "b": winograd.B,
        },
        group=(1, 1, 1),
        heavy=True,
        flops=2 * area.batches * area.columns * prod(weights.shape),
    )


IMPLEMENTATIONS = (
    TiledImplementation("conv_bytes", _build_bytes, _bytes),
    TiledImplementation("conv_bytes_from_linear", _build_bytes, _few_bytes, reads=LINEAR),
    Implementation("split_sums", _build_split, _one_pixel, half_arithmetic=True),
    TiledImplementation("conv_shared", shared_sums.build, _few_pixels, half_arithmetic=True),
    TiledImplementation("conv_thin", _build_thin, _few_outputs),
    TiledImplementation("conv_1x1", _build_pointwise, _pointwise, half_arithmetic=True),
    TiledImplementation("winograd", _build_winograd, _winograd),
    TiledImplementation("conv", _build_window, _aligned, half_arithmetic=True),
    TiledImplementation("conv_linear", _build_linear, _from_rows, reads=LINEAR),
    TiledImplementation("conv_grouped", _build_grouped, _split_slices),
)

define(
    "CONV_2D input filter:weights bias? -> output",
    infer,
    IMPLEMENTATIONS,
    note="NaN and infinities may spread to other groups of channels, and to pixels nearby "
    "where Winograd's method is used, as on CPUs",
    versions=8,
    traits=Traits(weights=Weights(0, input_axis=3, summed_axes=(1, 2, 3)), window=window),
)
