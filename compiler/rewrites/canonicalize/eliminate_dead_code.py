"""Operators whose results nothing reads are removed."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import Graph
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite()
def eliminate_dead_code(graph: Graph, target: Target) -> Iterator[Attempt]:
    """In reverse, so that operators that feed only dead ones are removed too."""
    for op in reversed(graph.ops):
        used = (graph.consumers(t) or graph.is_output(t) for t in op.outputs)
        if op.outputs and not any(used):
            yield Attempt((op,))
            graph.remove(op)
