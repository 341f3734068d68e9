"""A transpose before a fully connected layer is folded into the order of its weights.

    t = TRANSPOSE(x[1,3,5,7]) perm=(0,3,1,2)   r = RESHAPE(t) [1,105]   y = FULLY_CONNECTED(r, w)
    becomes   r = RESHAPE(x) [1,105]   y = FULLY_CONNECTED(r, w')

Networks converted from channels-first frameworks flatten their last feature map this way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ir import Graph, Op
from ...ops.transpose import permutation
from ..rewrite import Declined, rewrite


@rewrite("TRANSPOSE", "RESHAPE", "FULLY_CONNECTED")
def fold_transpose_into_weights(
    graph: Graph, transpose: Op, reshape: Op, op: Op
) -> Declined | None:
    weights = op.operand(1)
    if op.operand(0) is not reshape.output or weights.data is None:
        return Declined("the weights are computed while the model runs")
    if op.attrs.get("weights_format", "DEFAULT") != "DEFAULT":
        return Declined("the weights have a shuffled format")
    if weights.blocks is not None:
        return Declined("the weights are quantized in blocks along their rows")
    order, source = permutation(transpose), transpose.operand(0)
    rows = next((n for n in range(len(order)) if order[n] != n), len(order))
    if int(np.prod(source.shape[rows:])) != weights.shape[1]:
        return Declined("the transposed axes are not exactly one row of the input")
    row_order = [axis - rows for axis in order[rows:]]
    sizes = [source.shape[axis] for axis in order[rows:]]
    images = weights.data.reshape(weights.shape[0], *sizes)
    back = [0, *(1 + int(axis) for axis in np.argsort(row_order))]
    content = np.ascontiguousarray(images.transpose(back)).reshape(weights.shape)
    permuted = replace(weights, name=f"{weights.name}/permuted", data=content)
    graph.set_inputs(op, (op.inputs[0], permuted, *op.inputs[2:]))
    graph.bypass(transpose)
    return None
