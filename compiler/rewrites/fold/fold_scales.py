"""Factors and summands of channels become part of a convolution's weights and bias."""

import numpy as np

from ...ir import Array, Graph, Op, Shape, constant
from ...ops import operators_with
from ...ops.base.definition import weights_of, window_of
from ...ops.base.traits import Weights
from ..rewrite import LOOKED_UP, rewrite

SCALED = operators_with(lambda traits: traits.weights and traits.weights.input_axis is not None)


@rewrite({"ADD", "SUB", "MUL", "DIV"}, SCALED, backwards=True)
def fold_scale_before_conv(graph: Graph, scale: Op, op: Op) -> str | None:
    """A MUL, DIV, ADD or SUB by constants before a convolution is folded into its weights and bias.

        t = MUL(x, s)   y = CONV_2D(t, w, b)   becomes   y = CONV_2D(x, w * s, b)
        t = ADD(x, s)   y = CONV_2D(t, w, b)   becomes   y = CONV_2D(x, w, b + sum(w * s))

    `s` is a scalar or has one entry per channel. A sum can only be folded if the convolution has no
    padding, since the padding is zero rather than `s`.
    """
    weighted = weights_of(op)
    assert weighted is not None and weighted.input_axis is not None
    place = weighted.image
    if op.operand(place) is not scale.output or op.operand(1) is scale.output:
        return "the result is used as weights or bias"
    position = 0 if scale.operand(1).constant else 1
    image, other = scale.operand(position), scale.operand(1 - position)
    if other.data is None or image.constant:
        return "neither operand is a constant"
    if position == 1 and scale.name in ("SUB", "DIV"):
        return "the feature map is the subtrahend or divisor"
    if reason := _unsupported_reason(scale, op, image.shape, other.data, weighted):
        return reason
    channels = image.shape[-1]
    values = np.broadcast_to(other.data.reshape(-1), (channels,)).astype(np.float64)
    inputs = list(op.inputs)
    weights = op.constant(1).astype(np.float64)
    along = [1] * weights.ndim
    along[weighted.input_axis] = -1
    if scale.name in ("MUL", "DIV"):
        factor = values if scale.name == "MUL" else 1 / values
        scaled = (weights * factor.reshape(along)).astype(np.float32)
        inputs[1] = constant(f"{op.operand(1).name}/scaled", scaled)
    else:
        signed = values if scale.name == "ADD" else -values
        added = (weights * signed.reshape(along)).sum(weighted.summed_axes)
        bias = op.constant(2).reshape(-1) if op.input(2) is not None else 0
        inputs[2:3] = [constant(f"{op.output.name}/bias", (bias + added).astype(np.float32))]
    inputs[place] = image
    graph.set_inputs(op, inputs)
    graph.remove(scale)
    return None


def _unsupported_reason(
    scale: Op, op: Op, shape: Shape, values: Array, weighted: Weights
) -> str | None:
    weights, bias = op.operand(1), op.input(weighted.bias)
    if weights.data is None or (bias is not None and bias.data is None):
        return "weights or bias are computed while the model runs"
    if scale.output.shape != shape or shape[-1] != weights.shape[weighted.input_axis or 0]:
        return "the feature map broadcasts, or the channels are split into groups"
    if values.size not in (1, shape[-1]) or (values.size > 1 and values.shape[-1] != shape[-1]):
        return "the constant is neither a scalar nor one value per channel"
    if scale.name in ("MUL", "DIV") and weights.tied:
        return LOOKED_UP
    if scale.name in ("ADD", "SUB"):
        if not weighted.summed_axes:
            return "at the edges a window covers fewer pixels, so the sum differs there"
        window = window_of(op)
        if window and (window.top or window.bottom or window.left or window.right):
            return "the convolution has padding, to which nothing is added"
    return None


WEIGHTED = operators_with(lambda traits: traits.weights)


@rewrite(WEIGHTED, {"ADD", "SUB", "MUL", "DIV"})
def fold_scale_into_conv(graph: Graph, op: Op, scale: Op) -> str | None:
    """A MUL, DIV, ADD or SUB by constants after a convolution is folded into its weights and bias.

        t = CONV_2D(x, w, b)   y = MUL(t, s)   becomes   y = CONV_2D(x, w * s, b * s)
        t = CONV_2D(x, w, b)   y = ADD(t, s)   becomes   y = CONV_2D(x, w, b + s)

    `s` is a scalar or has one entry per channel, as batch normalization leaves behind.
    """
    position = scale.inputs.index(op.output)
    other = scale.operand(1 - position)
    if other.data is None or other is op.output:
        return "the other operand is computed while the model runs"
    if position == 1 and scale.name in ("SUB", "DIV"):
        return "the result is the subtrahend or divisor"
    weighted = weights_of(op)
    assert weighted is not None
    place = weighted.bias
    weights, bias = op.operand(1), op.input(place)
    if weights.data is None or (bias is not None and bias.data is None):
        return "weights or bias are computed while the model runs"
    channels = op.output.shape[-1]
    if scale.output.shape != op.output.shape or other.elements not in (1, channels):
        return "the constant is neither a scalar nor one value per channel"
    if other.elements > 1 and other.shape[-1] != channels:
        return "the constant does not lie along the channels"
    if scale.name in ("MUL", "DIV") and weights.tied:
        return LOOKED_UP
    values = np.broadcast_to(other.data.reshape(-1), (channels,)).astype(np.float32)
    old = np.zeros(channels, np.float32) if bias is None else op.constant(place).reshape(-1)
    factor, new = _affine(scale.name, values, old)
    inputs = list(op.inputs[:place])
    if factor is not None:
        along = [1] * len(weights.shape)
        along[weighted.output_axis] = -1
        scaled = (weights.data * factor.reshape(along)).astype(np.float32)
        inputs[1] = constant(f"{weights.name}/scaled", scaled)
    result = scale.output
    graph.remove(scale)
    graph.set_inputs(op, (*inputs, constant(f"{result.name}/bias", new.astype(np.float32))))
    graph.set_outputs(op, (result,))
    return None


def _affine(name: str, values: Array, bias: Array) -> tuple[Array | None, Array]:
    """The factor of the weights, None if there is none, and the new bias."""
    if name == "ADD":
        return None, bias + values
    if name == "SUB":
        return None, bias - values
    factor = values if name == "MUL" else 1 / values
    return factor, bias * factor
