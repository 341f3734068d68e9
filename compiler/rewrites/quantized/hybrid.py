"""Dynamic range: float operands and 8-bit weights.

Each row of the operand, or each image, is quantized while the model runs, with a scale and a zero
point of its own; the sums are of integers, and become floats again.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...ir import Op, Tensor
from ...ops.fully_connected import OF_BLOCKS
from ...ops.row_scales import ROW_SCALES
from .blocks import XNNPACK_BLOCK, check_own_kernel, rounded_to_bfloat16, scales_of_blocks
from .lowering import EXACT, Lowering
from .ratios import HYBRID_BLOCK

MOST = 127.0
"""What the largest value of a row becomes."""

LEAST = 4e-37
"""The least such value that is told from 0; 127 is still divided by it without overflow."""


def hybrid(lowering: Lowering) -> Tensor:
    """As XNNPACK computes it: to int8, halves to even, sums times the inverse, then the scale.

    Weights that have a scale for each block are multiplied by it before; these sums are of floats.
    """
    op = lowering.op
    image, weights, bias = op.operand(0), op.operand(1), op.input(2)
    check_weights(lowering, weights)
    if op.name == "FULLY_CONNECTED" and len(op.output.shape) == 2:
        rows = (image.elements // weights.shape[1], weights.shape[1])
        if image.shape != rows:
            image = lowering.reshape(image, rows)
    if op.name == "DEPTHWISE_CONV_2D":
        return lowering.activated(_depthwise(lowering, image, weights, bias))
    if weights.blocks is not None:
        sums, scale = _of_blocks(lowering, image, weights)
        return lowering.activated(_scaled(lowering, sums, scale, weights, bias))
    if weights.dtype == "int4" and (op.name == "CONV_2D" or weights.shape[1] % 2):
        return lowering.activated(_of_packed_weights(lowering, image, weights, bias))
    axes = _axes(op, image, weights)
    attrs = {**lowering.unfused, "exact": True}
    matrix = lowering.centered(weights)
    if axes == [len(image.shape) - 1] and _fit(matrix):
        sums, scale = _sums_of_rows(lowering, image, matrix, attrs)
    else:
        integers, scale = _by_rows(lowering, image, axes)
        sums = lowering.add(op.name, integers, matrix, None, **attrs)
    return lowering.activated(_scaled(lowering, sums, scale, weights, bias))


def _fit(weights: Tensor) -> bool:
    """Whether float32 holds sums of products with bytes exactly, and those of a zero point.

    Their difference is rounded once, as whole sums are when LiteRT makes floats of them.
    """
    assert weights.data is not None
    sums = np.abs(weights.data).reshape(len(weights.data), -1).sum(1, dtype=np.float64)
    return float(sums.max(initial=0)) * 128 <= EXACT


def _sums_of_rows(
    lowering: Lowering, rows: Tensor, weights: Tensor, attrs: Mapping[str, Any]
) -> tuple[Tensor, Tensor]:
    """The sums of rows of integers less their zero points, and the scales of the rows.

    The layer multiplies the integers as they are, which are bytes; what the zero points come to is
    taken from its sums.
    """
    scale, zero = lowering.several(ROW_SCALES, [rows], ["float32"] * 2)
    integers = lowering.add("tflgpu.round_rows", rows, scale, zero)
    sums = lowering.add(lowering.op.name, integers, weights, None, **attrs)
    assert weights.data is not None
    totals = weights.data.reshape(len(weights.data), -1).sum(1)
    return lowering.add("tflgpu.less_zero", sums, zero, lowering.constant(totals)), scale


def _depthwise(lowering: Lowering, image: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    """As LiteRT's own kernel: ties away from zero, sums times the weights' scale, then the image's.

    Beyond whole blocks of channels it multiplies by the image's scale first.
    """
    op, channels = lowering.op, weights.shape[3]
    integers, step = rows_away(lowering, image, [1, 2, 3])
    attrs = {**lowering.unfused, "exact": True}
    sums = lowering.add(op.name, integers, lowering.centered(weights), None, **attrs)
    scales = np.broadcast_to(lowering.scale(weights), (channels,))
    whole = np.arange(channels) < channels - channels % HYBRID_BLOCK
    first, second = np.where(whole, scales, 1), np.where(whole, 1, scales)
    added = bias if bias is not None else lowering.constant(np.zeros(channels))
    factors = lowering.constant(first), step, lowering.constant(second)
    return lowering.add("tflgpu.scale_rows", sums, *factors, added)


def rows_away(lowering: Lowering, values: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Centered integers as LiteRT's own kernels make them, and what one of them stands for."""
    low, high = _extremes(lowering, values, axes)
    step = lowering.add("tflgpu.row_step", low, high)
    inverse = lowering.add("DIV", lowering.constant(1), step)
    zero = lowering.add("tflgpu.row_zero", low, high, inverse)
    return lowering.add("tflgpu.quantize_rows_away", values, inverse, zero), step


def symmetric_rows(lowering: Lowering, rows: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Integers from -127 to 127, and what one of them stands for."""
    last = lowering.constant(axes, "int32")
    most = lowering.add("REDUCE_MAX", lowering.add("ABS", rows), last, keep_dims=True)
    most = lowering.add("MAXIMUM", most, lowering.constant(LEAST))
    inverse = lowering.add("DIV", lowering.constant(MOST), most)
    integers = lowering.add("tflgpu.quantize_rows_away", rows, inverse, lowering.constant(0))
    return integers, lowering.add("DIV", most, lowering.constant(MOST))


def quantized_rows(lowering: Lowering, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Integers along the last axis, and what one stands for, as the operator asks for them."""
    asked = lowering.op.attrs.get("asymmetric_quantize_inputs")
    return (rows_away if asked else symmetric_rows)(lowering, rows, [len(rows.shape) - 1])


def _of_packed_weights(
    lowering: Lowering, image: Tensor, weights: Tensor, bias: Tensor | None
) -> Tensor:
    """As LiteRT's own kernels, to which XNNPACK leaves convolutions and odd numbers of inputs.

    A scale for each channel goes with a zero point for each image.
    """
    op = lowering.op
    if op.name == "FULLY_CONNECTED":
        integers, step = quantized_rows(lowering, image)
    else:
        quantize = rows_away if lowering.scale(weights).ndim else symmetric_rows
        integers, step = quantize(lowering, image, [1, 2, 3])
    attrs = {**lowering.unfused, "exact": True}
    sums = lowering.add(op.name, integers, lowering.centered(weights), None, **attrs)
    channels = sums.shape[-1:]
    scales = lowering.constant(np.broadcast_to(lowering.scale(weights), channels))
    added = bias if bias is not None else lowering.constant(np.zeros(channels))
    if lowering.scale(weights).ndim and image.shape[-1] != weights.shape[-1]:
        # Groups of channels are left to a kernel that multiplies in this order.
        return lowering.add("tflgpu.scale_rows", sums, scales, step, lowering.constant(1), added)
    return lowering.add("tflgpu.scale_row_sums", sums, step, scales, added)


def _of_blocks(lowering: Lowering, image: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of products with weights that are multiplied by the scales of their blocks before.

    Blocks of other sizes than XNNPACK takes are left to LiteRT's own kernel, which rounds no
    scales, and quantizes rows as _of_packed_weights does.
    """
    op, blocks = lowering.op, weights.blocks
    assert blocks is not None and weights.data is not None
    scales = scales_of_blocks(lowering, weights)
    if blocks.size % XNNPACK_BLOCK:
        check_own_kernel(lowering, weights)
        integers, step = rows_away(lowering, image, [len(image.shape) - 1])
        scale = lowering.add("DIV", lowering.constant(1), step)
    else:
        scales = rounded_to_bfloat16(scales)
        integers, scale = _by_rows(lowering, image, [len(image.shape) - 1])
    attrs = lowering.unfused
    if blocks.size % lowering.target.lanes:
        matrix = lowering.constant(weights.data * np.repeat(scales, blocks.size, -1))
        return lowering.add(op.name, integers, matrix, None, **attrs), scale
    operands = integers, lowering.centered(weights), None, lowering.constant(scales)
    return lowering.add(OF_BLOCKS, *operands, **attrs, exact=True), scale


def hybrid_transposed(lowering: Lowering) -> Tensor:
    """TRANSPOSE_CONV of floats with quantized weights."""
    op = lowering.op
    size, weights, image, bias = op.operand(0), op.operand(1), op.operand(2), op.input(3)
    check_weights(lowering, weights)
    integers, scale = _by_rows(lowering, image, [1, 2, 3])
    attrs = {**lowering.unfused, "exact": True}
    operands = (size, lowering.centered(weights), integers, None)
    sums = lowering.add(op.name, *operands, dtype="float32", **attrs)
    return lowering.activated(_scaled(lowering, sums, scale, weights, bias))


def _axes(op: Op, image: Tensor, weights: Tensor) -> list[int]:
    """The axes of an operand that are quantized together: of a row, or of an image.

    XNNPACK makes a fully connected layer of a convolution of single pixels without groups.
    """
    rank = len(image.shape)
    strides = {op.attrs.get(key, 1) for key in ("stride_h", "stride_w")}
    whole = op.name == "CONV_2D" and weights.shape[1:] == (1, 1, image.shape[-1])
    pixels = whole and strides == {1}
    return [rank - 1] if pixels or op.name == "FULLY_CONNECTED" else list(range(1, rank))


def hybrid_product(lowering: Lowering) -> Tensor:
    """BATCH_MATMUL of floats and a constant matrix of int8, with a scale for each row."""
    op = lowering.op
    first, second = op.operand(0), op.operand(1)
    if not second.constant:
        raise lowering.declined(
            "its second operand is int8 that the model computes, for which XNNPACK takes zeros"
        )
    check_weights(lowering, second)
    rank = len(first.shape)
    if op.attrs.get("adj_x"):
        first = lowering.transpose(first, (*range(rank - 2), rank - 1, rank - 2))
    integers, scale = _by_rows(lowering, first, [rank - 1])
    adjoint = bool(op.attrs.get("adj_y"))
    sums = lowering.add(
        op.name, integers, lowering.centered(second), adj_x=False, adj_y=adjoint, exact=True
    )
    return _scaled(lowering, sums, scale, second, None)


def check_weights(lowering: Lowering, weights: Tensor) -> None:
    """UnsupportedError for weights that LiteRT multiplies by no floats, or not as it should."""
    if weights.dtype == "uint8":
        raise lowering.declined("its weights are uint8, whose bytes LiteRT takes for int8")
    if weights.dtype == "int16":
        raise lowering.declined("its weights are int16, and its other operand float32")


def _extremes(lowering: Lowering, values: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """The least and the greatest value along these axes, which are kept at size 1.

    Columns are reduced before rows, and these before channels: kernels of slices then share the
    work, of which a whole image would be too much for one of them.
    """
    extremes = []
    for name in ("REDUCE_MIN", "REDUCE_MAX"):
        result = values
        for axis in sorted(axes, key=lambda axis: (axis == len(values.shape) - 1, -axis)):
            if result.shape[axis] > 1:
                result = lowering.reduce(name, result, axis)
        extremes.append(result)
    low, high = extremes
    return low, high


def _by_rows(lowering: Lowering, values: Tensor, axes: list[int]) -> tuple[Tensor, Tensor]:
    """Centered integers, and the scale they have along all but these axes."""
    if axes == [len(values.shape) - 1]:
        scale, zero = lowering.several(ROW_SCALES, [values], ["float32"] * 2)
    else:
        low, high = _extremes(lowering, values, axes)
        scale = lowering.add("tflgpu.row_scale", low, high)
        zero = lowering.add("tflgpu.row_zero", low, high, scale)
    return lowering.add("tflgpu.quantize_rows", values, scale, zero), scale


def _scaled(
    lowering: Lowering, sums: Tensor, scale: Tensor, weights: Tensor, bias: Tensor | None
) -> Tensor:
    """Sums as floats: times the inverse of the rows' scales, then the weights', plus a bias."""
    inverse = lowering.add("tflgpu.times_inverse", sums, scale)
    scales = 1.0 if weights.blocks is not None else lowering.scale(weights)
    factors = lowering.constant(np.broadcast_to(scales, sums.shape[-1:]))
    added = bias if bias is not None else lowering.constant(np.zeros(sums.shape[-1], np.float32))
    return lowering.add("tflgpu.multiply_add", inverse, factors, added)
