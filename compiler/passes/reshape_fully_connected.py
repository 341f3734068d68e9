"""The input of a FULLY_CONNECTED is cut into rows of the weights' width beforehand.

y = FULLY_CONNECTED(x[1,7,7,64], w[10,3136])
becomes   r = RESHAPE(x) [1,3136]   y = FULLY_CONNECTED(r, w)
"""

from __future__ import annotations

from ..ir import Graph, Op, Tensor
from .rewrite import Declined, rewrite


@rewrite("FULLY_CONNECTED")
def reshape_fully_connected(graph: Graph, op: Op) -> Declined | None:
    source, width = op.operand(0), op.operand(1).shape[1]
    keeps = op.attrs.get("keep_num_dims", False)
    if source.shape and source.shape[-1] == width and (keeps or len(source.shape) == 2):
        return Declined("the input is cut already")
    rows = Tensor(f"{source.name}/rows", (source.elements // width, width), source.dtype)
    attrs = {"new_shape": rows.shape}
    graph.add(Op("RESHAPE", (source,), (rows,), attrs, op.index))
    graph.set_inputs(op, (rows, *op.inputs[1:]))
    return None
