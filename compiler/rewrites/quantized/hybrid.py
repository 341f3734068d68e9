"""Dynamic range: float operands and 8-bit weights.

Rows of the operand are quantized while the model runs (`rows`); the sums are of integers, and
become floats again.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import Array, Op, Tensor
from ...ops.base.window import Window
from ...ops.conv.transpose_conv import by_phases
from ...ops.conv.transpose_conv_phases import repeated, weights_of_phases
from ...ops.elementwise.cast import rounded_to_bfloat16
from ...ops.layers.byte_products import sums_fit
from ...ops.layers.weights import scaled_totals, sharing
from ...ops.matmul.fully_connected import OF_BLOCKS
from ...ops.move.space_to_depth import PHASES_TO_SPACE
from ...ops.reduce.extremes import ROW_SCALES
from .blocks import XNNPACK_BLOCK, check_own_kernel, scales_of_blocks
from .lowering import EXACT, PACKED, Lowering
from .ratios import HYBRID_BLOCK
from .rows import by_rows, of_lines, quantized_rows, rows_away, symmetric_rows

PART = 1 << 24  # Bytes of weights whose sums are taken at once, which needs a copy of them.


def hybrid(here: Lowering) -> Tensor:
    """As XNNPACK computes it: to int8, halves to even, sums times the inverse, then the scale.

    The sum of a block of weights that has a scale is multiplied by it before; all these are floats.
    """
    op = here.op
    image, weights, bias = op.operand(0), op.operand(1), op.input(2)
    check_weights(here, weights)
    if op.name != "FULLY_CONNECTED":
        return here.activated(_layer(here, image, weights, bias))
    if len(op.output.shape) == 2 or len(image.shape) > 4:
        image = here.reshape(image, (image.elements // weights.shape[1], weights.shape[1]))
    return here.reshape(here.activated(_layer(here, image, weights, bias)), op.output.shape)


def _layer(here: Lowering, image: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    """The result without an activation."""
    if here.op.name == "DEPTHWISE_CONV_2D":
        return _depthwise(here, image, weights, bias)
    if weights.blocks is not None:
        sums, scale = _of_blocks(here, image, weights)
        return _scaled(here, sums, scale, np.ones(()), bias)
    if left_by_xnnpack(here):
        return _by_own_kernel(here, image, weights, bias)
    axes = _axes(here.op, image, weights)
    matrix = here.centered(weights)
    bytes_alone = _multiplies_bytes(here, image, matrix)
    if axes == [len(image.shape) - 1] and (bytes_alone or _fit(matrix)):
        sums, scale = _sums_of_rows(here, image, matrix)
    elif bytes_alone:
        window = Window.of(here.op, *weights.shape[1:3])
        around = (window.top, window.bottom), (window.left, window.right)
        sums, scale = _sums_of_windows(here, image, matrix, around)
    else:
        integers, scale = by_rows(here, image, axes)
        sums = _sums(here, integers, matrix)
    return _scaled(here, sums, scale, here.scales(weights), bias)


def left_by_xnnpack(here: Lowering) -> bool:
    """Whether the layer is left to LiteRT's own kernels: its weights or its bias are computed, or
    packed.

    XNNPACK takes packed ones of fully connected layers alone, in rows of whole bytes, and int2 only
    with a scale for each channel.
    """
    weights, bias = here.op.operand(1), here.op.input(2)
    if not weights.constant or (bias is not None and not bias.constant):
        return True
    if weights.dtype not in PACKED:
        return False
    if here.op.name != "FULLY_CONNECTED" or weights.shape[1] % PACKED[weights.dtype]:
        return True
    return weights.dtype == "int2" and not here.scales(weights).ndim


def _multiplies_bytes(here: Lowering, image: Tensor, weights: Tensor) -> bool:
    """Whether the device multiplies the bytes of a layer, of whatever sums 32 bits hold."""
    whole = len(image.shape) <= 4 and image.shape[-1] == weights.shape[-1]
    return whole and here.target.byte_products and sums_fit(weights)


def _multiplies_blocks(here: Lowering, image: Tensor, weights: Tensor) -> bool:
    """Whether the bytes of a layer are multiplied whose weights have a scale for each block.

    Work-items of a GPU share the sums of a single row, in floats, which other choices with the same
    weights may have.
    """
    several = image.elements > image.shape[-1]
    several = several and not sharing(here.op, here.target).shares_weights
    wanted = here.target.on_processor or several
    return wanted and _multiplies_bytes(here, image, weights)


def _fit(weights: Tensor) -> bool:
    """Whether float32 holds sums of products with bytes exactly, and those of a zero point."""
    rows = weights.values.reshape(weights.shape[0], -1)
    parts = np.array_split(rows, max(rows.nbytes // PART, 1))
    sums = (np.abs(part).sum(1, dtype=np.float64).max(initial=0) for part in parts)
    return float(max(sums)) * 128 <= EXACT


def _sums(here: Lowering, integers: Tensor, matrix: Tensor, **others: Any) -> Tensor:
    """What the layer itself, but for some attributes, makes of integers, without a bias and an
    activation."""
    attrs = {**here.unfused, **others}
    return here.add(here.op.name, integers, matrix, None, **attrs, exact=True)


def _sums_of_rows(here: Lowering, rows: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """The sums of rows of integers less their zero points, and the scales of the rows.

    The layer multiplies the integers as they are, which are bytes; what the zero points come to is
    taken from its sums.
    """
    integers, scale, zero = _rounded(here, rows)
    sums = _sums(here, integers, weights, **_wide(weights))
    return _less_zero(here, sums, zero, weights), scale


def _rounded(here: Lowering, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Rows as integers that are bytes, their scales and their zero points."""
    scale, zero = of_lines(here, ROW_SCALES, rows, [len(rows.shape) - 1])
    return here.add("tflgpu.round_rows", rows, scale, zero), scale, zero


def _sums_of_windows(
    here: Lowering, image: Tensor, weights: Tensor, around: Sequence[tuple[int, int]], **others: Any
) -> tuple[Tensor, Tensor]:
    """The sums of windows of integers less their zero points, and the scales of the images.

    What is put around an image becomes its zero point. `others` are attributes in place of the
    operator's.
    """
    scale, zero = of_lines(here, ROW_SCALES, image, [1, 2, 3])
    edges = [(0, 0), *around, (0, 0)]
    if any(map(any, edges)):
        image = here.add("PAD", image, here.constant(edges, "int32"))
    integers = here.add("tflgpu.round_rows", image, scale, zero)
    attrs = {**here.unfused, **others, **_wide(weights), "padding": "VALID"}
    sums = here.add("CONV_2D", integers, weights, None, **attrs, exact=True)
    return _less_zero(here, sums, zero, weights), scale


def _wide(weights: Tensor) -> dict[str, int]:
    """The attribute that tells of sums of bytes that float32 does not hold."""
    return {} if _fit(weights) else {"least": -128}


def _less_zero(here: Lowering, sums: Tensor, zero: Tensor, weights: Tensor) -> Tensor:
    """Sums of products of bytes less what zero points come to in them."""
    totals = weights.values.reshape(len(weights.values), -1).sum(1)
    return here.add("tflgpu.less_zero", sums, zero, here.constant(totals))


def _depthwise(here: Lowering, image: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    """As LiteRT's own kernel: ties away from zero, sums times the weights' scale, then the image's.

    Beyond whole blocks of channels it multiplies by the image's scale first.
    """
    channels = weights.shape[3]
    if channels > 1 and not here.scales(weights).ndim:
        raise here.declined(
            "its weights have one scale, but LiteRT reads one for each channel",
            "quantize them with a scale for each channel",
            unsafe=True,
        )
    integers, step = rows_away(here, image, [1, 2, 3])
    sums = _sums(here, integers, here.centered(weights))
    scales = np.broadcast_to(here.scales(weights), (channels,))
    whole = np.arange(channels) < channels - channels % HYBRID_BLOCK
    first, second = np.where(whole, scales, 1), np.where(whole, 1, scales)
    factors = here.constant(first), step, here.constant(second)
    return _biased(here, "tflgpu.scale_rows", (sums, *factors), bias)


def _by_own_kernel(here: Lowering, image: Tensor, weights: Tensor, bias: Tensor | None) -> Tensor:
    """As LiteRT's own kernels. A scale for each channel goes with a zero point for each image."""
    if here.op.name == "FULLY_CONNECTED":
        integers, step = quantized_rows(here, image)
    else:
        quantize = rows_away if here.scales(weights).ndim else symmetric_rows
        integers, step = quantize(here, image, [1, 2, 3])
    sums = _sums(here, integers, here.centered(weights))
    channels = sums.shape[-1]
    scales = here.constant(np.broadcast_to(here.scales(weights), (channels,)))
    if here.scales(weights).ndim and image.shape[-1] != weights.shape[-1]:
        # Groups of channels are left to a kernel that multiplies in this order.
        factors = scales, step, here.constant(1)
        return _biased(here, "tflgpu.scale_rows", (sums, *factors), bias)
    return _biased(here, "tflgpu.scale_row_sums", (sums, step, scales), bias)


def _of_blocks(here: Lowering, image: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of products with weights, or of the products of a block of them, times its scale.

    Blocks of other sizes than XNNPACK takes are left to LiteRT's own kernel, which rounds no
    scales, and quantizes rows as _by_own_kernel does.
    """
    blocks = weights.blocks
    assert blocks is not None
    scales, centered = scales_of_blocks(here, weights), here.centered(weights)
    if blocks.size % XNNPACK_BLOCK:
        check_own_kernel(here, weights)
        integers, step = rows_away(here, image, [len(image.shape) - 1])
        scale = here.add("DIV", here.constant(1), step)
    else:
        scales = rounded_to_bfloat16(scales)
        if _multiplies_blocks(here, image, centered):
            return _of_bytes(here, image, centered, scales)
        integers, scale = by_rows(here, image, [len(image.shape) - 1])
    if blocks.size % here.target.lanes:
        matrix = here.constant(weights.values * np.repeat(scales, blocks.size, -1))
        return here.add(here.op.name, integers, matrix, None, **here.unfused), scale
    operands = integers, centered, None, here.constant(scales)
    return here.add(OF_BLOCKS, *operands, **here.unfused, exact=True), scale


def _of_bytes(
    here: Lowering, image: Tensor, weights: Tensor, scales: Array
) -> tuple[Tensor, Tensor]:
    """The same where the device multiplies bytes, which what zero points come to is taken from."""
    integers, scale, zero = _rounded(here, image)
    operands = integers, weights, None, here.constant(scales)
    sums = here.add(OF_BLOCKS, *operands, **here.unfused, exact=True, least=-128)
    totals = here.constant(scaled_totals(weights.values, scales))
    return here.add("tflgpu.less_products", sums, zero, totals), scale


def hybrid_transposed(here: Lowering) -> Tensor:
    """TRANSPOSE_CONV of floats with quantized weights."""
    op = here.op
    size, weights, image, bias = op.operand(0), op.operand(1), op.operand(2), op.input(3)
    check_weights(here, weights)
    if (result := _by_phases(here)) is not None:
        return result
    integers, scale = by_rows(here, image, [1, 2, 3])
    operands = (size, here.centered(weights), integers, None)
    sums = here.add(op.name, *operands, dtype="float32", **here.unfused, exact=True)
    return here.activated(_scaled(here, sums, scale, here.scales(weights), bias))


def _by_phases(here: Lowering) -> Tensor | None:
    """TRANSPOSE_CONV as a convolution of bytes to which phases are channels, if that is faster."""
    op = here.op
    weights, image, bias = op.operand(1), op.operand(2), op.input(3)
    if not weights.constant:
        return None
    phases = by_phases(op)
    matrix = weights_of_phases(here.centered(weights), phases)
    if phases.too_many_products() or not _multiplies_bytes(here, image, matrix):
        return None
    around = phases.padding(*image.shape[1:3])
    sums, scale = _sums_of_windows(here, image, matrix, around, stride_h=1, stride_w=1)
    added = None if bias is None else here.constant(repeated(bias.values, phases))
    scaled = _scaled(here, sums, scale, repeated(here.scales(weights), phases), added)
    return here.add(PHASES_TO_SPACE, here.activated(scaled), **phases.as_pixels)


def _axes(op: Op, image: Tensor, weights: Tensor) -> list[int]:
    """The axes of an operand that are quantized together: of a row, or of an image.

    XNNPACK makes a fully connected layer of a convolution of single pixels without groups.
    """
    rank = len(image.shape)
    strides = {op.attrs.get(key, 1) for key in ("stride_h", "stride_w")}
    whole = op.name == "CONV_2D" and weights.shape[1:] == (1, 1, image.shape[-1])
    pixels = whole and strides == {1}
    return [rank - 1] if pixels or op.name == "FULLY_CONNECTED" else list(range(1, rank))


def hybrid_product(here: Lowering) -> Tensor:
    """BATCH_MATMUL of floats and a constant matrix of int8, with a scale for each row."""
    op = here.op
    first, second = op.operand(0), op.operand(1)
    if not second.constant:
        raise here.declined(
            "its second operand is int8 that the model computes, for which XNNPACK takes zeros"
        )
    check_weights(here, second)
    rank = len(first.shape)
    if op.attrs.get("adj_x"):
        first = here.transpose(first, (*range(rank - 2), rank - 1, rank - 2))
    integers, scale = by_rows(here, first, [rank - 1])
    adjoint = bool(op.attrs.get("adj_y"))
    sums = here.add(
        op.name, integers, here.centered(second), adj_x=False, adj_y=adjoint, exact=True
    )
    return _scaled(here, sums, scale, here.scales(second), None)


def check_weights(here: Lowering, weights: Tensor) -> None:
    """UnsupportedError for weights that LiteRT multiplies by no floats, or not as it should."""
    if weights.dtype == "uint8":
        raise here.declined("its weights are uint8, whose bytes LiteRT takes for int8")
    if weights.dtype == "int16":
        raise here.declined("its weights are int16, and its other operand float32")
    if weights.dtype == "int2" and here.op.name != "FULLY_CONNECTED":
        raise here.declined(
            "its weights are int2, which LiteRT unpacks for fully connected layers alone",
            "quantize them to int4 or int8",
            unsafe=True,
        )
    if weights.blocks is not None and weights.dtype != "int4":
        raise here.declined(
            f"the blocks of {weights.name} are {weights.dtype}, whose bytes LiteRT takes for int4",
            "quantize them to int4",
            unsafe=weights.dtype == "int2",
        )


def _scaled(
    here: Lowering, sums: Tensor, scale: Tensor, scales: Array, bias: Tensor | None
) -> Tensor:
    """Sums as floats: times the inverse of the rows' scales, then the weights', plus a bias."""
    inverse = here.add("tflgpu.times_inverse", sums, scale)
    factors = here.constant(np.broadcast_to(scales, sums.shape[-1:]))
    added = _bias(here, bias, sums.shape[-1])
    return here.add("tflgpu.multiply_add", inverse, factors, added)


def _bias(here: Lowering, bias: Tensor | None, channels: int) -> Tensor:
    return here.constant(np.zeros(channels)) if bias is None else bias


def _biased(here: Lowering, row: str, operands: tuple[Tensor, ...], bias: Tensor | None) -> Tensor:
    """Rounded sums and a bias; a computed one is a kernel's operand, of which there are many."""
    if bias is None or bias.constant:
        return here.add(row, *operands, _bias(here, bias, operands[0].shape[-1]))
    return here.add("ADD", here.add(row, *operands, here.constant(0)), bias)
