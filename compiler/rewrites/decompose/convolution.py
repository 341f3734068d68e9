"""Convolutions whose weights or bias are computed while the model runs."""

from __future__ import annotations

from typing import Any

from ...ir import Tensor
from ...ops import conv, depthwise_conv
from ...ops.base import Window
from .decomposition import Decomposition, decomposes


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
    op = here.op
    count = conv.groups(op)

    def split(tensor: Tensor, axis: int) -> tuple[Tensor, ...]:
        operands = here.constant(axis, "int32"), tensor
        return here.several("SPLIT", operands, [tensor.dtype] * count, num_splits=count)

    bias = op.input(2)
    biases = [None] * count if bias is None else split(here.reshape(bias, (bias.elements,)), 0)
    groups = zip(split(op.operand(0), 3), split(op.operand(1), 0), biases, strict=True)
    results = [here.add("CONV_2D", *operands, **op.attrs) for operands in groups]
    return here.add("CONCATENATION", *results, axis=3)


@decomposes("DEPTHWISE_CONV_2D")
def computed_depthwise_weights(here: Decomposition) -> Tensor | str:
    """The sum, over the taps of the window, of the shifted image times the tap's weights."""
    op = here.op
    source, weights, bias = op.operand(0), op.operand(1), op.input(2)
    if weights.constant:
        return bias_apart(here, 2)
    source = _repeated(here, source, weights.shape[3] // source.shape[3])
    window = depthwise_conv.window(op)
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


def _repeated(here: Decomposition, source: Tensor, times: int) -> Tensor:
    """Each channel repeated `times` times."""
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
    here: Decomposition,
    tensor: Tensor,
    begin: tuple[int, ...],
    end: tuple[int, ...],
    steps: tuple[int, ...] = (1, 1, 1, 1),
) -> Tensor:
    """A block of rows and columns of a tensor, with all channels."""
    ends = (*end[:3], tensor.shape[3])
    edges = (here.constant(list(values), "int32") for values in (begin, ends, steps))
    return here.add("STRIDED_SLICE", tensor, *edges)
