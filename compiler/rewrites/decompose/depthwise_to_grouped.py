"""A depthwise convolution with several outputs per channel becomes a grouped convolution.

y = DEPTHWISE_CONV_2D(x, w[1,h,w,C*m])   becomes   y = CONV_2D(x, w[C*m,h,w,1])
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op, constant
from ..rewrite import Declined, rewrite


@rewrite("DEPTHWISE_CONV_2D", required=True)
def depthwise_to_grouped(graph: Graph, op: Op) -> Declined | None:
    weights = op.operand(1)
    if weights.shape[3] == op.operand(0).shape[3]:
        return Declined("it has one output per channel")
    if weights.data is None:
        return Declined("the weights are computed while the model runs")
    grouped = np.ascontiguousarray(weights.data.transpose(3, 1, 2, 0))
    op.name = "CONV_2D"
    op.attrs = {key: value for key, value in op.attrs.items() if key != "depth_multiplier"}
    tensor = constant(f"{weights.name}/grouped", grouped)
    graph.set_inputs(op, (op.inputs[0], tensor, *op.inputs[2:]))
    return None
