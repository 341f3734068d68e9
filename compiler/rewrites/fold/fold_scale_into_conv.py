"""A MUL, DIV, ADD or SUB by constants after a convolution is folded into its weights and bias.

    t = CONV_2D(x, w, b)   y = MUL(t, s)   becomes   y = CONV_2D(x, w * s, b * s)
    t = CONV_2D(x, w, b)   y = ADD(t, s)   becomes   y = CONV_2D(x, w, b + s)

`s` is a scalar or has one entry per channel, as batch normalization leaves behind.
"""

from __future__ import annotations

import numpy as np

from ...ir import Array, Graph, Op, constant
from ...ops import operators_with
from ...ops.base import weights_of
from ..rewrite import Declined, rewrite

WEIGHTED = operators_with(lambda traits: traits.weights)


@rewrite(WEIGHTED, {"ADD", "SUB", "MUL", "DIV"})
def fold_scale_into_conv(graph: Graph, op: Op, scale: Op) -> Declined | None:
    position = scale.inputs.index(op.output)
    other = scale.operand(1 - position)
    if other.data is None or other is op.output:
        return Declined("the other operand is computed while the model runs")
    if position == 1 and scale.name in ("SUB", "DIV"):
        return Declined("the result is the subtrahend or divisor")
    weighted = weights_of(op)
    assert weighted is not None
    place = weighted.bias
    weights, bias = op.operand(1), op.input(place)
    if weights.data is None or (bias is not None and bias.data is None):
        return Declined("weights or bias are computed while the model runs")
    channels = op.output.shape[-1]
    if scale.output.shape != op.output.shape or other.elements not in (1, channels):
        return Declined("the constant is neither a scalar nor one value per channel")
    if other.elements > 1 and other.shape[-1] != channels:
        return Declined("the constant does not lie along the channels")
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
