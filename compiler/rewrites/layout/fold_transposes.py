"""Transposes that their reader folds into what it does."""

from dataclasses import replace

import numpy as np

from ...ir import Graph, Op, Tensor
from ...ops.move.transpose import permutation
from ...ops.reduce.reduce import REDUCTIONS, axes
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, Attempts, graph_rewrite, rewrite


@graph_rewrite()
def fold_transpose_into_reduction(graph: Graph, target: Target) -> Attempts:
    """A reduction reads the input of a transpose, if the remaining axes keep their order.

        t = TRANSPOSE(x[1,7,5,19]) perm=(0,3,1,2)   y = MEAN(t) axes=(2,3)
        becomes   m = MEAN(x) axes=(1,2)   y = RESHAPE(m) new_shape=(1,19)

    The transpose stays if its result is also used elsewhere.

    For every reduction of a transposed tensor.
    """
    for op in graph.ops:
        transpose = graph.producer(op.operand(0)) if op.name in REDUCTIONS else None
        if transpose is None or transpose.name != "TRANSPOSE":
            continue
        reason = None if keeps_order(transpose, op) else "the remaining axes change their order"
        if (yield Attempt((transpose, op), reason)):
            here = Decomposition(graph, op, target)
            here.apply(_fold(here, transpose))


def keeps_order(transpose: Op, op: Op) -> bool:
    """Whether the axes that a reduction keeps have the same order before the transpose."""
    order, reduced = permutation(transpose), axes(op)
    shape = transpose.operand(0).shape
    left = [axis for i, axis in enumerate(order) if i not in reduced and shape[axis] > 1]
    return left == sorted(left)


def _fold(here: Decomposition, transpose: Op) -> Tensor:
    op, order, source = here.op, permutation(transpose), transpose.operand(0)
    own = here.constant(sorted(order[axis] for axis in axes(op)), "int32")
    kept = here.add(op.name, source, own, **{**op.attrs, "keep_dims": True})
    return here.reshape(kept, op.output.shape)


@rewrite("TRANSPOSE", "RESHAPE", "FULLY_CONNECTED")
def fold_transpose_into_weights(graph: Graph, transpose: Op, reshape: Op, op: Op) -> str | None:
    """A transpose before a fully connected layer is folded into the order of its weights.

        t = TRANSPOSE(x[1,3,5,7]) perm=(0,3,1,2)   r = RESHAPE(t) [1,105]
        y = FULLY_CONNECTED(r, w)
        becomes   r = RESHAPE(x) [1,105]   y = FULLY_CONNECTED(r, w')

    Networks converted from channels-first frameworks flatten their last feature map this way.
    """
    weights = op.operand(1)
    if op.operand(0) is not reshape.output or weights.data is None:
        return "the weights are computed while the model runs"
    if op.attrs.get("weights_format", "DEFAULT") != "DEFAULT":
        return "the weights have a shuffled format"
    if weights.blocks is not None:
        return "the weights are quantized in blocks along their rows"
    order, source = permutation(transpose), transpose.operand(0)
    rows = next((n for n in range(len(order)) if order[n] != n), len(order))
    if int(np.prod(source.shape[rows:])) != weights.shape[1]:
        return "the transposed axes are not exactly one row of the input"
    row_order = [axis - rows for axis in order[rows:]]
    sizes = [source.shape[axis] for axis in order[rows:]]
    images = weights.data.reshape(weights.shape[0], *sizes)
    back = [0, *(1 + int(axis) for axis in np.argsort(row_order))]
    content = np.ascontiguousarray(images.transpose(back)).reshape(weights.shape)
    permuted = replace(weights, name=f"{weights.name}/permuted", content=content)
    graph.set_inputs(op, (op.inputs[0], permuted, *op.inputs[2:]))
    graph.bypass(transpose)
    return None
