"""A MUL, DIV, ADD or SUB by constants before a convolution is folded into its weights and bias.

    t = MUL(x, s)   y = CONV_2D(t, w, b)   becomes   y = CONV_2D(x, w * s, b)
    t = ADD(x, s)   y = CONV_2D(t, w, b)   becomes   y = CONV_2D(x, w, b + sum(w * s))

`s` is a scalar or has one entry per channel. A sum can only be folded if the convolution has no
padding, since the padding is zero rather than `s`.
"""

from __future__ import annotations

import numpy as np

from ...ir import Array, Graph, Op, Shape, constant
from ...ops import operators_with
from ...ops.base import Weights, weights_of, window_of
from ..rewrite import Declined, rewrite

SCALED = operators_with(lambda traits: traits.weights and traits.weights.input_axis is not None)


@rewrite({"ADD", "SUB", "MUL", "DIV"}, SCALED, backwards=True)
def fold_scale_before_conv(graph: Graph, scale: Op, op: Op) -> Declined | None:
    weighted = weights_of(op)
    assert weighted is not None and weighted.input_axis is not None
    place = weighted.image
    if op.operand(place) is not scale.output or op.operand(1) is scale.output:
        return Declined("the result is used as weights or bias")
    position = 0 if scale.operand(1).constant else 1
    image, other = scale.operand(position), scale.operand(1 - position)
    if other.data is None or image.constant:
        return Declined("neither operand is a constant")
    if position == 1 and scale.name in ("SUB", "DIV"):
        return Declined("the feature map is the subtrahend or divisor")
    if reason := _unsupported_reason(scale, op, image.shape, other.data, weighted):
        return Declined(reason)
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
    if scale.name in ("ADD", "SUB"):
        if not weighted.summed_axes:
            return "at the edges a window covers fewer pixels, so the sum differs there"
        window = window_of(op)
        if window and (window.top or window.bottom or window.left or window.right):
            return "the convolution has padding, to which nothing is added"
    return None
