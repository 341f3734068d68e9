"""The pass that runs all registered decompositions.

    y = L2_NORMALIZATION(x)
    becomes   y = DIV(x, MAXIMUM(1e-6, SQRT(SUM(SQUARE(x)))))

The resulting operators may be decomposed in turn.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import Graph, Op
from ...target import Target
from ..rewrite import Attempt, graph_rewrite, invalid_operator
from .decomposition import DECOMPOSITIONS, Decomposition


@graph_rewrite(required=True)
def decompose_operators(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Until nothing is left to decompose.

    ModelError if operands or options are invalid, UnsupportedError if an operator cannot be split.
    """
    declined: set[Op] = set()
    while waiting := [op for op in graph.ops if op.name in DECOMPOSITIONS and op not in declined]:
        for op in waiting:
            decomposition = Decomposition(graph, op, target)
            with invalid_operator(op):
                found = DECOMPOSITIONS[op.name](decomposition)
            if isinstance(found, str):
                yield Attempt((op,), found)
                declined.add(op)
            else:
                yield Attempt((op,))
                decomposition.apply(found)
