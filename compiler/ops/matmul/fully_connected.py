"""FULLY_CONNECTED: rows times transposed weights [outputs, inputs], as a 1x1 convolution.

tflgpu.fully_connected_blocks has weights whose blocks of inputs have a scale each:

    y = tflgpu.fully_connected_blocks(x, w, scales)    w[outputs, inputs], scales[outputs, blocks]

Its weights are whole numbers, so that they stay packed; kernels multiply them by the scales, or
those that multiply bytes the sums of a block. Blocks are whole slices of inputs.
"""

from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.choose_tile import choose_tile
from ..base.cost import IN_ROWS
from ..base.definition import Implementation, TiledImplementation, define
from ..base.images import flattens
from ..base.launch import Constant, Launch
from ..base.storage import LINEAR, slice_count
from ..base.tile import Area, TileShape, epilogue_operands
from ..base.traits import Traits, Weights
from ..layers import shared_sums
from ..layers.byte_products import byte_products, multiplies_bytes, words_in_rows
from ..layers.split_sums import split_sums, splits, splits_alone
from ..layers.weights import (
    PackedWeights,
    bias_slices,
    check_bias,
    computed_weights,
    in_blocks,
    in_bytes,
    layers_of,
    ohwi,
    scales_in_halves,
    sharing,
    wide_sums,
)


def infer(op: Op) -> list[Shape]:
    """[rows, outputs], or the input's leading axes and outputs with keep_num_dims (ModelError).

    Of several layers, whose outputs are alike, there is one each.
    """
    shape, weights = op.operand(0).shape, op.operand(1).shape
    empty = not prod(weights[1:]) and not prod(shape[-1:])
    if len(weights) != 2 or (0 in weights and not empty) or prod(shape) % (weights[1] or 1):
        raise op.invalid(f"input {list(shape)} does not match weights {list(weights)}")
    check_bias(op, weights[0])
    layers = layers_of(op)
    outputs = weights[0] // layers
    if op.attrs.get("keep_num_dims", False):
        if not shape or shape[-1] != weights[1]:
            raise op.invalid(f"keep_num_dims needs {weights[1]} input channels, not {list(shape)}")
        return [(*shape[:-1], outputs)] * layers
    return [(prod(shape[:-1]) if empty else prod(shape) // weights[1], outputs)] * layers


def _rows(op: Op, target: Target) -> str | None:
    """A decomposition gives the input the weights' width."""
    if op.attrs.get("weights_format", "DEFAULT") != "DEFAULT":
        return "the weights have a shuffled format"
    if not op.operand(1).shape[1]:
        return "it has no input channels"
    if len(op.output.shape) > 4 or len(op.operand(0).shape) > 4:
        return "rank is above 4"
    if not op.operand(0).shape or op.operand(0).shape[-1] != op.operand(1).shape[1]:
        return "the input is not split into rows of the weights' width"
    return computed_weights(op)


def in_rows(op: Op, target: Target) -> str | None:
    """Why kernels of floats cannot compute a layer; None if they can."""
    return _rows(op, target) or wide_sums(op)


def build(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    """The launch of a layer by tiles; blocks of its weights may have scales, which are input 3,
    the last one."""
    flat = flattens(op)
    area = Area.of(op, target, flat, layers_of(op), epilogue_operands(op))
    tile = choose_tile(area, sharing(op, target), wanted, work=IN_ROWS)
    weights = op.constant(1)

    def pack(table: Array) -> Constant:
        blocks = in_blocks(ohwi(table), op, tile, target)
        return PackedWeights(blocks, area.sums * tile.slices, target.lanes)

    launch = Launch.of(
        op,
        "conv/conv_1x1.jinja",
        area.grid(tile),
        constants={
            "bias": bias_slices(op, op.output.shape[-1], target, tile.slices),
            "weights": pack(weights),
            **_scales(op, pack),
        },
        variables={
            "tile": tile,
            "blocks": area.blocks(tile),
            "inputs": weights.shape[1],
            "block": _block(op),
        },
        flatten=flat,
        heavy=True,
        flops=2 * area.sums * op.output.elements * weights.shape[1],
    )
    return _narrow(launch, op, target)


def _narrow(launch: Launch, op: Op, target: Target) -> Launch:
    """A launch that reads weights and their scales in as few bits as hold them."""
    return scales_in_halves(in_bytes(launch, op, target), op, target)


def of_a_vector(op: Op, target: Target) -> str | None:
    """Why work-items cannot share the sums of a single row; None if they can."""
    return in_rows(op, target) or _single(op) or splits(op, target)


def _single(op: Op) -> str | None:
    return "it computes several layers" if layers_of(op) > 1 else None


def shares_sums(op: Op, target: Target) -> str | None:
    """Why a layer is faster alone, in a kernel whose work-items share sums; None if it is not."""
    if of_a_vector(op, target) is None:
        return "work-items share the sums of a single row"
    target = sharing(op, target)
    if target.shares_weights and (in_rows(op, target) or splits_alone(op, target)) is None:
        return "another choice may have a single row, whose sums work-items would share"
    if shared_sums.unsuited(op, target) is None:
        return "work-items share the sums of few rows"
    return None


def build_split(op: Op, target: Target) -> Launch:
    """The launch of a layer of a single row, whose sums work-items share."""
    bias = bias_slices(op, op.output.shape[-1], target)
    launch = split_sums(op, target, bias, op.constant(1))
    shared = launch.variables["shared"]

    def pack(scales: Array) -> Constant:
        slices = shared or slice_count(len(scales), target)  # Of a block: all if none share it.
        return PackedWeights(ohwi(scales), slices, target.lanes)

    launch = replace(
        launch,
        constants={**launch.constants, **_scales(op, pack)},
        variables={**launch.variables, "block": _block(op)},
    )
    return _narrow(launch, op, target)


def _scales(op: Op, pack: Callable[[Array], Constant]) -> dict[str, Constant]:
    """The scales of the blocks of weights as a kernel reads them, by their role, if there are."""
    return {"scales": pack(op.constant(3))} if _has_scales(op) else {}


def _block(op: Op) -> int:
    """The inputs of a block of weights; all of them if blocks have no scales."""
    inputs = op.operand(1).shape[1]
    return inputs // (op.operand(3).shape[1] if _has_scales(op) else 1)


def _has_scales(op: Op) -> bool:
    return len(op.inputs) == 4


def _few_rows(op: Op, target: Target) -> str | None:
    return in_rows(op, target) or _single(op) or shared_sums.unsuited(op, target)


def _build_shared(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    return in_bytes(shared_sums.build(op, target, wanted), op, target)


def _bytes(op: Op, target: Target) -> str | None:
    return _rows(op, target) or multiplies_bytes(op, target)


def _rows_of_bytes(op: Op, target: Target) -> str | None:
    return _bytes(op, target) or words_in_rows(op, target)


def _build_bytes(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    scales = op.constant(3) if _has_scales(op) else None
    return scales_in_halves(byte_products(op, target, None, wanted, scales), op, target)


IMPLEMENTATIONS = (
    TiledImplementation("conv_bytes", _build_bytes, _bytes),
    TiledImplementation("conv_bytes_from_linear", _build_bytes, _rows_of_bytes, reads=LINEAR),
    Implementation("split_sums", build_split, of_a_vector, half_arithmetic=True),
    Implementation("split_sums_from_linear", build_split, of_a_vector, reads=LINEAR),
    TiledImplementation("conv_shared", _build_shared, _few_rows, half_arithmetic=True),
    TiledImplementation("conv_1x1", build, in_rows, half_arithmetic=True),
    TiledImplementation("conv_1x1_from_linear", build, in_rows, reads=LINEAR),
)

define(
    "FULLY_CONNECTED input weights:weights bias? -> output shuffled?",
    infer,
    IMPLEMENTATIONS,
    versions=14,
    traits=Traits(weights=Weights(0, input_axis=1, summed_axes=(1,))),
)

OF_BLOCKS = "tflgpu.fully_connected_blocks"


def _reference_of_blocks(op: Op, x: Array, weights: Array, scales: Array) -> Array:
    each = np.repeat(scales, weights.shape[1] // scales.shape[1], 1)
    return np.asarray(x @ (weights * each).T, np.float32)


define(
    OF_BLOCKS,
    infer,
    # In single precision, with which scales multiply; conv_shared takes none.
    tuple(
        replace(each, half_arithmetic=False)
        for each in IMPLEMENTATIONS
        if each.name != "conv_shared"
    ),
    _reference_of_blocks,
)
