"""Convolutions whose weights are computed while the model runs."""

from __future__ import annotations

from typing import Any

from ..ir import Tensor
from ..ops import conv, depthwise_conv
from ..ops.window import Window
from .expansion import Expansion, expands


@expands("CONV_2D")
def computed_weights(here: Expansion) -> str | None:
    """A picture is a volume of depth 1, and CONV_3D takes weights of any origin."""
    op = here.op
    source, weights, bias = op.operand(0), op.operand(1), op.input(2)
    if weights.constant and (bias is None or bias.constant):
        return "the weights are constants"
    if conv.groups(op) != 1:
        return "the channels are split into groups"
    window = conv.window(op)
    volume = here.reshape(source, (source.shape[0], 1, *source.shape[1:]))
    turned = here.transpose(weights, (1, 2, 3, 0))
    turned = here.reshape(turned, (1, *turned.shape))
    options: dict[str, Any] = {
        "padding": ((0, 0), (window.top, window.bottom), (window.left, window.right)),
        "stride_h": window.stride_y,
        "stride_w": window.stride_x,
        "dilation_h_factor": window.dilation_y,
        "dilation_w_factor": window.dilation_x,
    }
    result = here.add("CONV_3D", volume, turned, bias, **options)
    here.finish(here.reshape(result, op.output.shape))
    return None


@expands("DEPTHWISE_CONV_2D")
def computed_depthwise_weights(here: Expansion) -> str | None:
    """For each tap of the window the shifted picture times the tap's weights, added up."""
    op = here.op
    source, weights, bias = op.operand(0), op.operand(1), op.input(2)
    if weights.constant and (bias is None or bias.constant):
        return "the weights are constants"
    if weights.shape[3] != source.shape[3]:
        return "several output channels for an input channel"
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
    here.finish(total if bias is None else here.add("ADD", total, bias))
    return None


def _shifted(here: Expansion, padded: Tensor, window: Window, row: int, column: int) -> Tensor:
    """The pixels a tap of the window meets."""
    _, rows, columns, _ = here.op.output.shape
    top, left = row * window.dilation_y, column * window.dilation_x
    low = top + (rows - 1) * window.stride_y + 1
    right = left + (columns - 1) * window.stride_x + 1
    steps = (1, window.stride_y, window.stride_x, 1)
    return _tap(here, padded, (0, top, left, 0), (padded.shape[0], low, right, -1), steps)


def _tap(
    here: Expansion,
    tensor: Tensor,
    begin: tuple[int, ...],
    end: tuple[int, ...],
    steps: tuple[int, ...] = (1, 1, 1, 1),
) -> Tensor:
    """A part of a tensor with all of its channels."""
    ends = (*end[:3], tensor.shape[3])
    edges = (here.constant(list(values), "int32") for values in (begin, ends, steps))
    return here.add("STRIDED_SLICE", tensor, *edges)
