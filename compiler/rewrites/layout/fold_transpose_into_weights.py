"""Weights are put in the order that a transpose in front of them would put the values in.

    t = TRANSPOSE(x[1,3,5,7]) perm=(0,3,1,2)   r = RESHAPE(t) [1,105]   y = FULLY_CONNECTED(r, w)
    becomes   r = RESHAPE(x) [1,105]   y = FULLY_CONNECTED(r, w')

Networks made for channels first flatten their last picture like that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...ir import Graph, Op
from ...ops.transpose import permutation
from ..rewrite import Declined, rewrite


@rewrite("TRANSPOSE", "RESHAPE", "FULLY_CONNECTED")
def fold_transpose_into_weights(graph: Graph, turn: Op, flat: Op, op: Op) -> Declined | None:
    weights = op.operand(1)
    if op.operand(0) is not flat.output or weights.data is None:
        return Declined("the weights are computed while the model runs")
    if op.attrs.get("weights_format", "DEFAULT") != "DEFAULT":
        return Declined("the weights are shuffled")
    if weights.blocks is not None:
        return Declined("the weights are quantized in blocks along their rows")
    order, source = permutation(turn), turn.operand(0)
    rows = next((n for n in range(len(order)) if order[n] != n), len(order))
    if int(np.prod(source.shape[rows:])) != weights.shape[1]:
        return Declined("what is transposed is more or less than a row")
    turned = [axis - rows for axis in order[rows:]]
    sizes = [source.shape[axis] for axis in order[rows:]]
    pictures = weights.data.reshape(weights.shape[0], *sizes)
    back = [0, *(1 + int(axis) for axis in np.argsort(turned))]
    content = np.ascontiguousarray(pictures.transpose(back)).reshape(weights.shape)
    turned_weights = replace(weights, name=f"{weights.name}/turned", data=content)
    graph.set_inputs(op, (op.inputs[0], turned_weights, *op.inputs[2:]))
    graph.bypass(turn)
    return None
