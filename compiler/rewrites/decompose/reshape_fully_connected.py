"""The input of a FULLY_CONNECTED is reshaped to rows of the weights' width.

y = FULLY_CONNECTED(x[1,7,7,64], w[10,3136])
becomes   r = RESHAPE(x) [1,3136]   y = FULLY_CONNECTED(r, w)

An input of rank 5 or more becomes a matrix too, and the result gets its axes back.
"""

from __future__ import annotations

from ...ir import Graph, Op, Tensor
from ..rewrite import Declined, rewrite

MAX_AXES = 4
"""Highest rank of a kernel's input: batch, height, width and channels."""


@rewrite("FULLY_CONNECTED", required=True)
def reshape_fully_connected(graph: Graph, op: Op) -> Declined | None:
    source, width = op.operand(0), op.operand(1).shape[1]
    keeps = op.attrs.get("keep_num_dims", False)
    fits = len(source.shape) <= MAX_AXES if keeps else len(source.shape) == 2
    if source.shape and source.shape[-1] == width and fits:
        return Declined("the input already consists of rows of the weights' width")
    if not width:
        return Declined("the weights have no input channels")
    rows = Tensor(f"{source.name}/rows", (source.elements // width, width), source.dtype)
    attrs = {"new_shape": rows.shape}
    graph.add(Op("RESHAPE", (source,), (rows,), attrs, op.index))
    graph.set_inputs(op, (rows, *op.inputs[1:]))
    if keeps:
        result = op.output
        matrix = Tensor(f"{result.name}/rows", (rows.shape[0], result.shape[-1]), result.dtype)
        graph.set_outputs(op, (matrix,))
        graph.add(Op("RESHAPE", (matrix,), (result,), {"new_shape": result.shape}, op.index))
    return None
