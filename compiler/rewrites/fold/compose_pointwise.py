"""Two consecutive 1x1 convolutions become one, if that takes less arithmetic.

t = CONV_2D(x, v, a)   y = CONV_2D(t, w, b)   both 1x1
becomes   y = CONV_2D(x, w v, w a + b)
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op, constant
from ...ops.conv import groups, window
from ..rewrite import Declined, rewrite


@rewrite("CONV_2D", "CONV_2D")
def compose_pointwise(graph: Graph, first: Op, second: Op) -> Declined | None:
    pair = (first, second)
    if second.operand(0) is not first.output:
        return Declined("the second convolution does not read the first as its feature map")
    if any(groups(op) != 1 or not window(op).pointwise for op in pair):
        return Declined("the convolutions are not both 1x1 and ungrouped")
    if any(tensor is not None and tensor.data is None for op in pair for tensor in op.inputs[1:]):
        return Declined("weights or a bias are computed while the model runs")
    inputs, middle, outputs = (
        first.operand(0).shape[3],
        first.output.shape[3],
        second.output.shape[3],
    )
    if inputs * outputs >= middle * (inputs + outputs):
        return Declined(
            f"{inputs} x {outputs} products per pixel are no fewer than with {middle} channels "
            f"in between"
        )
    inner = first.constant(1).reshape(middle, inputs).astype(np.float64)
    outer = second.constant(1).reshape(outputs, middle).astype(np.float64)
    bias = np.zeros(outputs)
    if first.input(2) is not None:
        bias += outer @ first.constant(2).reshape(-1)
    if second.input(2) is not None:
        bias += second.constant(2).reshape(-1)
    weights = (outer @ inner).reshape(outputs, 1, 1, inputs).astype(np.float32)
    name = second.output.name
    composed = (
        constant(f"{name}/weights", weights),
        constant(f"{name}/bias", bias.astype(np.float32)),
    )
    graph.set_inputs(second, (first.operand(0), *composed))
    graph.remove(first)
    return None
