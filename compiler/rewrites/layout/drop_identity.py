"""Operators that return their input unchanged are removed.

y = RESHAPE(x)   with the shape of x:   readers of y read x
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import Graph, Op
from ...ops import OPS
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite()
def drop_identity(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Readers of the output read the input instead."""
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
