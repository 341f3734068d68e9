"""A reduction reads what a transpose reads, if what is left keeps its order.

t = TRANSPOSE(x[1,7,5,19]) perm=(0,3,1,2)   y = MEAN(t) axes=(2,3)
becomes   m = MEAN(x) axes=(1,2)   y = RESHAPE(m) new_shape=(1,19)
"""

from __future__ import annotations

import numpy as np

from ..ir import Graph, Op, Tensor, constant
from ..ops.reduce import REDUCTIONS, axes
from ..ops.transpose import permutation
from .rewrite import Declined, rewrite


@rewrite("TRANSPOSE", REDUCTIONS)
def fold_transpose_into_reduction(graph: Graph, turn: Op, op: Op) -> Declined | None:
    order, reduced = permutation(turn), axes(op)
    source = turn.operand(0)
    left = [a for i, a in enumerate(order) if i not in reduced and source.shape[a] > 1]
    if left != sorted(left):
        return Declined("the axes that are left change their order")
    own = np.array(sorted(order[axis] for axis in reduced), np.int32)
    shape = tuple(1 if axis in own else size for axis, size in enumerate(source.shape))
    result = op.output
    kept = Tensor(f"{result.name}/kept", shape, result.dtype, quantization=result.quantization)
    graph.set_outputs(op, (kept,))
    op.attrs = {**op.attrs, "keep_dims": True}
    graph.set_inputs(op, (source, constant(f"{result.name}/axes", own)))
    graph.remove(turn)
    graph.add(Op("RESHAPE", (kept,), (result,), {"new_shape": result.shape}, op.index))
    return None
