"""A reduction reads what a transpose reads, if what is left keeps its order.

    t = TRANSPOSE(x[1,7,5,19]) perm=(0,3,1,2)   y = MEAN(t) axes=(2,3)
    becomes   m = MEAN(x) axes=(1,2)   y = RESHAPE(m) new_shape=(1,19)

The transpose stays where others need it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...ir import Graph, Op, Tensor, constant
from ...ops.reduce import REDUCTIONS, axes
from ...ops.transpose import permutation
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite()
def fold_transpose_into_reduction(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Every reduction of what is transposed."""
    for op in graph.ops:
        turn = graph.producer(op.operand(0)) if op.name in REDUCTIONS else None
        if turn is None or turn.name != "TRANSPOSE":
            continue
        reason = None if keeps_order(turn, op) else "the axes that are left change their order"
        yield Attempt((turn, op), reason)
        if reason is None:
            _fold(graph, turn, op)


def keeps_order(turn: Op, op: Op) -> bool:
    """Whether the axes that a reduction leaves of a transposed tensor lie as before it was."""
    order, reduced = permutation(turn), axes(op)
    shape = turn.operand(0).shape
    left = [axis for i, axis in enumerate(order) if i not in reduced and shape[axis] > 1]
    return left == sorted(left)


def _fold(graph: Graph, turn: Op, op: Op) -> None:
    order, source, result = permutation(turn), turn.operand(0), op.output
    own = np.array(sorted(order[axis] for axis in axes(op)), np.int32)
    shape = tuple(1 if axis in own else size for axis, size in enumerate(source.shape))
    kept = Tensor(f"{result.name}/kept", shape, result.dtype, quantization=result.quantization)
    graph.set_outputs(op, (kept,))
    op.attrs = {**op.attrs, "keep_dims": True}
    graph.set_inputs(op, (source, constant(f"{result.name}/axes", own)))
    if not graph.consumers(turn.output) and not graph.is_output(turn.output):
        graph.remove(turn)
    graph.add(Op("RESHAPE", (kept,), (result,), {"new_shape": result.shape}, op.index))
