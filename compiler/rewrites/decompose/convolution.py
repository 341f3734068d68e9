"""Convolutions with computed weights or bias, and those that a plain convolution computes, too."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, starmap
from typing import Any

import numpy as np

from ...ir import Tensor
from ...ops.base.window import Along
from ...ops.conv import conv, transpose_conv
from ...ops.conv.depthwise_conv import CORRELATION
from .decomposition import Decomposition, decomposes
from .dilate import cropped, padded, spread, surround


@decomposes("CONV_2D")
def convolution(here: Decomposition) -> Tensor | str:
    """The sum over the rows of the window of layers, whose inputs are what the window covers there.

    y = CONV_2D(x[1,5,7,3], w[4,3,3,3]) padding=VALID
    becomes   t = CONCATENATION of x[:,:,0:5], x[:,:,1:6] and x[:,:,2:7] along channels: [1,5,5,9]
              y = the sum of FULLY_CONNECTED(t[:,0:3], w[:,0]) and those with t[:,1:4] and t[:,2:5]
    """
    op = here.op
    weights, bias = op.operand(1), op.input(2)
    if weights.constant:
        apart = bias_apart(here, 2)
        single = weights.shape[3] == 1 < conv.groups(op) == weights.shape[0]
        return _of_single_channels(here) if single and isinstance(apart, str) else apart
    if conv.groups(op) != 1:
        return _group_by_group(here)
    image, rows, columns = _surrounded(here, op.operand(0))
    covered = here.joined(list(steps(here, image, 2, columns)), 3)
    outputs, _, *line = weights.shape

    def layer(y: int, pixels: Tensor) -> Tensor:
        matrix = here.reshape(here.slice(weights, [0, y, 0, 0], [outputs, 1, *line]), (outputs, -1))
        return here.add("FULLY_CONNECTED", pixels, matrix, keep_num_dims=True)

    return total(here, starmap(layer, enumerate(steps(here, covered, 1, rows))), bias)


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
def depthwise(here: Decomposition) -> Tensor | str:
    """Several outputs for each channel, and computed weights, are other operators."""
    op = here.op
    source, weights, bias = op.operand(0), op.operand(1), op.input(2)
    apart, times = bias_apart(here, 2), weights.shape[3] // source.shape[3]
    if not isinstance(apart, str):
        return apart
    if weights.constant:
        return _grouped(here) if times > 1 else apart
    options = {**op.attrs, "depth_multiplier": 1}
    return here.add(CORRELATION, _repeated(here, source, times), weights, bias, **options)


def _grouped(here: Decomposition) -> Tensor:
    """Several outputs for each channel, by constant weights, are groups of channels.

    y = DEPTHWISE_CONV_2D(x, w[1,h,w,C*m])   becomes   y = CONV_2D(x, w[C*m,h,w,1])
    """
    attrs = {key: value for key, value in here.op.attrs.items() if key != "depth_multiplier"}
    return _exchanged(here, "CONV_2D", attrs)


def _of_single_channels(here: Decomposition) -> Tensor:
    """Groups of one channel with one output each, as Keras writes them.

    y = CONV_2D(x[..,C], w[C,h,w,1])   becomes   y = DEPTHWISE_CONV_2D(x, w[1,h,w,C])
    """
    return _exchanged(here, "DEPTHWISE_CONV_2D", {**here.op.attrs, "depth_multiplier": 1})


def _exchanged(here: Decomposition, name: str, attrs: dict[str, Any]) -> Tensor:
    """The operator as another one, whose weights have the first and the last axis exchanged."""
    op = here.op
    weights = np.ascontiguousarray(op.constant(1).transpose(3, 1, 2, 0))
    return here.add(name, op.operand(0), here.constant(weights), op.input(2), **attrs)


def _repeated(here: Decomposition, source: Tensor, times: int) -> Tensor:
    if times == 1:
        return source
    *pixels, channels = source.shape
    apart = here.reshape(source, (*pixels, channels, 1))
    sizes = here.constant([1, 1, 1, 1, times], "int32")
    return here.reshape(here.add("TILE", apart, sizes), (*pixels, channels * times))


def _surrounded(here: Decomposition, source: Tensor) -> tuple[Tensor, Along, Along]:
    """The image with what is around it, and the window along its rows and columns."""
    window, (_, height, width, _) = conv.window(here.op), source.shape
    down = window.height, window.stride_y, window.dilation_y, window.top, window.bottom
    across = window.width, window.stride_x, window.dilation_x, window.left, window.right
    rows, columns = Along(height, *down), Along(width, *across)
    image = surround(here, source, [(0, 0), rows.around, columns.around, (0, 0)])
    return image, rows, columns


def steps(here: Decomposition, tensor: Tensor, axis: int, walk: Along) -> Iterator[Tensor]:
    """What each step of a window reads along an axis, for every place of the result."""
    return (_step(here, tensor, axis, walk, n * walk.dilation) for n in range(walk.size))


def _step(here: Decomposition, tensor: Tensor, axis: int, walk: Along, first: int) -> Tensor:
    begin, end, strides = [0] * len(tensor.shape), list(tensor.shape), [1] * len(tensor.shape)
    begin[axis], end[axis] = first, first + (walk.count - 1) * walk.stride + 1
    strides[axis] = walk.stride
    if first == 0 and tuple(end) == tensor.shape and walk.stride == 1:
        return tensor
    edges = (here.constant(edge, "int32") for edge in (begin, end, strides))
    return here.add("STRIDED_SLICE", tensor, *edges)


def along_axes(letters: str, walks: Sequence[Along]) -> dict[str, Any]:
    """The attributes of a window's steps along axes, which have these letters."""
    named = list(zip(letters, walks, strict=True))
    strides = {f"stride_{letter}": walk.stride for letter, walk in named}
    return strides | {f"dilation_{letter}_factor": walk.dilation for letter, walk in named}


def total(here: Decomposition, parts: Iterable[Tensor], bias: Tensor | None = None) -> Tensor:
    """The sum of the parts, each added before the next one is computed, and of a bias."""
    terms = parts if bias is None else chain(parts, (bias,))
    return reduce(lambda first, second: here.add("ADD", first, second), terms)


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
