"""A transpose that only moves axes of size 1 becomes a reshape, which costs nothing.

y = TRANSPOSE(x[1,97,1,64]) perm=(0,2,1,3)   becomes   y = RESHAPE(x) new_shape=(1,1,97,64)
"""

from __future__ import annotations

from ...ir import Graph, Op
from ...ops.transpose import permutation
from ..rewrite import Declined, rewrite


@rewrite("TRANSPOSE")
def transpose_to_reshape(graph: Graph, op: Op) -> Declined | None:
    shape = op.operand(0).shape
    moved = [axis for axis in permutation(op) if shape[axis] > 1]
    if moved != sorted(moved):
        return Declined("axes larger than 1 change their order")
    graph.set_inputs(op, (op.operand(0),))
    op.name, op.attrs = "RESHAPE", {"new_shape": op.output.shape}
    return None
