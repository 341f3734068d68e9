"""Operators that only move elements become one after the other's, or are removed."""

import numpy as np

from ...ir import Graph, Op, constant
from ...ops import OPS, RESHAPES
from ...ops.move.concat import concat_axis
from ...ops.move.transpose import permutation
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite, rewrite


@rewrite(RESHAPES, RESHAPES)
def merge_reshapes(graph: Graph, first: Op, second: Op) -> str | None:
    """Two consecutive reshapes become one.

    t = RESHAPE(x)   y = SQUEEZE(t)
    becomes   y = RESHAPE(x)
    """
    if second.operand(0) is not first.output:
        return "the result is used as a shape"
    graph.set_inputs(second, (first.operand(0),))
    second.name, second.attrs = "RESHAPE", {"new_shape": second.output.shape}
    graph.remove(first)
    return None


@graph_rewrite()
def merge_transposes(graph: Graph, target: Target) -> Attempts:
    """Two consecutive transposes become one; if they cancel, `drop_identity` removes it.

    t = TRANSPOSE(x) perm=p   y = TRANSPOSE(t) perm=q   z = TANH(t)
    becomes   y = TRANSPOSE(x) perm=p[q]   t = TRANSPOSE(x) perm=p   z = TANH(t)

    The first one stays if its result is also used elsewhere, as the second one costs no more than
    before. In the order of execution, so that a chain of any length becomes one transpose.
    """
    for second in graph.ops:
        first = graph.producer(second.operand(0)) if second.name == "TRANSPOSE" else None
        if first is None or first.name != "TRANSPOSE":
            continue
        yield Attempt((first, second))
        order, later = permutation(first), permutation(second)
        both = np.array([order[axis] for axis in later], np.int32)
        graph.set_inputs(second, (first.operand(0), constant(f"{second.output.name}/order", both)))
        graph.remove_unread([first])


@rewrite("TRANSPOSE")
def transpose_to_reshape(graph: Graph, op: Op) -> str | None:
    """A transpose that only moves axes of size 1 becomes a reshape, which costs nothing.

    y = TRANSPOSE(x[1,97,1,64]) perm=(0,2,1,3)   becomes   y = RESHAPE(x) new_shape=(1,1,97,64)
    """
    shape = op.operand(0).shape
    moved = [axis for axis in permutation(op) if shape[axis] > 1]
    if moved != sorted(moved):
        return "axes larger than 1 change their order"
    graph.set_inputs(op, (op.operand(0),))
    op.name, op.attrs = "RESHAPE", {"new_shape": op.output.shape}
    return None


@rewrite("CONCATENATION", "CONCATENATION")
def merge_concats(graph: Graph, inner: Op, outer: Op) -> str | None:
    """A concatenation of a concatenation becomes one.

    t = CONCATENATION(a, b)   y = CONCATENATION(t, c)
    becomes   y = CONCATENATION(a, b, c)
    """
    if concat_axis(inner) != concat_axis(outer):
        return "they concatenate along different axes"
    place = outer.inputs.index(inner.output)
    before, after = outer.inputs[:place], outer.inputs[place + 1 :]
    if inner.output in after:
        return "its result is taken more than once"
    graph.set_inputs(outer, (*before, *inner.inputs, *after))
    graph.remove(inner)
    return None


@graph_rewrite()
def drop_identity(graph: Graph, target: Target) -> Attempts:
    """Operators that return their input unchanged are removed.

    y = RESHAPE(x)   with the shape of x:   readers of y read x
    """
    for op in graph.ops:
        if _is_identity(op):
            yield Attempt((op,))
            graph.replace(op.output, op.operand(OPS[op.name].traits.passes))
            graph.remove(op)


def _is_identity(op: Op) -> bool:
    definition = OPS.get(op.name)
    if definition is None or op.epilogue or len(op.outputs) != 1:
        return False
    if op.output.dtype not in definition.dtypes or definition.traits.identity is None:
        return False
    source = op.input(definition.traits.passes)
    if source is None or source.shape != op.output.shape:
        return False
    return definition.traits.identity(op)
