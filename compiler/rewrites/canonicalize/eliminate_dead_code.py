"""Operators whose results nobody reads go away."""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import Graph
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite()
def eliminate_dead_code(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Backwards, so that what feeds only dead operators dies with them."""
    for op in reversed(graph.ops):
        used = (graph.consumers(t) or graph.is_output(t) for t in op.outputs)
        if op.outputs and not any(used):
            yield Attempt((op,))
            graph.remove(op)
