"""Convolutions with computed weights or bias, and those that a plain convolution computes, too."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import Array, Shape, Tensor
from ...ops import conv, transpose_conv
from ...ops.base.window import Window
from .decomposition import Decomposition, decomposes
from .dilate import cropped, padded, spread, surround


@decomposes("CONV_2D")
def computed_weights(here: Decomposition) -> Tensor | str:
    """CONV_3D takes computed weights, and an image is a volume of depth 1."""
    op = here.op
    source, weights, bias = op.operand(0), op.operand(1), op.input(2)
    if weights.constant:
        return bias_apart(here, 2)
    if conv.groups(op) != 1:
        return _group_by_group(here)
    window = conv.window(op)
    volume = here.reshape(source, (source.shape[0], 1, *source.shape[1:]))
    permuted = here.transpose(weights, (1, 2, 3, 0))
    permuted = here.reshape(permuted, (1, *permuted.shape))
    options: dict[str, Any] = {
        "padding": ((0, 0), (window.top, window.bottom), (window.left, window.right)),
        "stride_h": window.stride_y,
        "stride_w": window.stride_x,
        "dilation_h_factor": window.dilation_y,
        "dilation_w_factor": window.dilation_x,
    }
    result = here.add("CONV_3D", volume, permuted, bias, **options)
    return here.reshape(result, op.output.shape)


def bias_apart(here: Decomposition, position: int) -> Tensor | str:
    """A computed bias is added by an operator of its own; the reason if the bias is a constant."""
    op = here.op
    bias = op.input(position)
    if bias is None or bias.constant:
        return "weights and bias are constants"
    inputs = [None if i == position else tensor for i, tensor in enumerate(op.inputs)]
    result = here.add(op.name, *inputs, dtype=op.output.dtype, **op.attrs)
    return here.add("ADD", result, here.reshape(bias, (bias.elements,)))


def _group_by_group(here: Decomposition) -> Tensor:
    """Each group of channels becomes a separate convolution."""
    op, count = here.op, conv.groups(here.op)
    images, weights = here.split(op.operand(0), count, 3), here.split(op.operand(1), count, 0)
    biases: Sequence[Tensor | None] = [None] * count
    if (bias := op.input(2)) is not None:
        biases = here.split(here.reshape(bias, (bias.elements,)), count, 0)
    groups = zip(images, weights, biases, strict=True)
    return here.joined([here.add("CONV_2D", *each, **op.attrs) for each in groups], 3)


@decomposes("DEPTHWISE_CONV_2D")
def computed_depthwise_weights(here: Decomposition) -> Tensor | str:
    """The sum, over the taps of the window, of the shifted image times the tap's weights."""
    op = here.op
    source, weights, bias = op.operand(0), op.operand(1), op.input(2)
    if weights.data is not None:
        apart = bias_apart(here, 2)
        several = weights.shape[3] > source.shape[3] and isinstance(apart, str)
        return _grouped(here, weights.data) if several else apart
    source = _repeated(here, source, weights.shape[3] // source.shape[3])
    window = conv.window(op)
    pads = [(0, 0), (window.top, window.bottom), (window.left, window.right), (0, 0)]
    padded = here.add("PAD", source, here.constant(pads, "int32"))
    total: Tensor | None = None
    for row in range(window.height):
        for column in range(window.width):
            tap = _tap(here, weights, (0, row, column, 0), (1, row + 1, column + 1, -1))
            part = here.add("MUL", _shifted(here, padded, window, row, column), tap)
            total = part if total is None else here.add("ADD", total, part)
    assert total is not None
    return total if bias is None else here.add("ADD", total, bias)


def _grouped(here: Decomposition, weights: Array) -> Tensor:
    """Several outputs for each channel, by constant weights, are groups of channels.

    y = DEPTHWISE_CONV_2D(x, w[1,h,w,C*m])   becomes   y = CONV_2D(x, w[C*m,h,w,1])
    """
    op, grouped = here.op, here.constant(np.ascontiguousarray(weights.transpose(3, 1, 2, 0)))
    attrs = {key: value for key, value in op.attrs.items() if key != "depth_multiplier"}
    return here.add("CONV_2D", op.operand(0), grouped, op.input(2), **attrs)


def _repeated(here: Decomposition, source: Tensor, times: int) -> Tensor:
    if times == 1:
        return source
    *pixels, channels = source.shape
    apart = here.reshape(source, (*pixels, channels, 1))
    sizes = here.constant([1, 1, 1, 1, times], "int32")
    return here.reshape(here.add("TILE", apart, sizes), (*pixels, channels * times))


def _shifted(here: Decomposition, padded: Tensor, window: Window, row: int, column: int) -> Tensor:
    """The pixels that one tap of the window reads, for every output pixel."""
    _, rows, columns, _ = here.op.output.shape
    top, left = row * window.dilation_y, column * window.dilation_x
    low = top + (rows - 1) * window.stride_y + 1
    right = left + (columns - 1) * window.stride_x + 1
    steps = (1, window.stride_y, window.stride_x, 1)
    return _tap(here, padded, (0, top, left, 0), (padded.shape[0], low, right, -1), steps)


def _tap(
    here: Decomposition, tensor: Tensor, begin: Shape, end: Shape, steps: Shape = (1, 1, 1, 1)
) -> Tensor:
    """A block of rows and columns of a tensor, with all channels."""
    ends = (*end[:3], tensor.shape[3])
    edges = (here.constant(list(values), "int32") for values in (begin, ends, steps))
    return here.add("STRIDED_SLICE", tensor, *edges)


@decomposes("TRANSPOSE_CONV", "Convolution2DTransposeBias")
def transposed(here: Decomposition) -> Tensor | str:
    """With zeros between the input pixels, it is a convolution with a flipped window.

    y = TRANSPOSE_CONV(x, w[O,h,w,I]), stride 1   becomes   y = CONV_2D(x, w[O,-h,-w,I])
    """
    op = here.op
    weights, bias = op.operand(1), op.input(transpose_conv.bias_position(op))
    window = transpose_conv.window(op)
    if weights.constant and (window.stride_y, window.stride_x) != (1, 1):
        return bias_apart(here, transpose_conv.bias_position(op))
    image = transpose_conv.input_image(op)
    image = spread(here, image, (1, window.stride_y, window.stride_x, 1))
    before = window.height - 1 - window.top, window.width - 1 - window.left
    # A window for each pixel of the result.
    sizes = zip(op.output.shape[1:3], image.shape[1:3], weights.shape[1:3], before, strict=True)
    edges = [(first, result + size - 1 - given - first) for result, given, size, first in sizes]
    image = surround(here, image, [(0, 0), *map(cropped, edges), (0, 0)])
    flipped = here.add("REVERSE_V2", weights, here.constant([1, 2], "int32"))
    options: dict[str, Any] = {"padding": tuple(map(padded, edges)), "stride_h": 1, "stride_w": 1}
    return here.add("CONV_2D", image, flipped, bias, **options)
