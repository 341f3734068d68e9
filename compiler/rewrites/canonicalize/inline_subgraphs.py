"""Composite operators are what their subgraph computes.

y = STABLEHLO_COMPOSITE(x) decomposition_subgraph_index=1
becomes   the operators of subgraph 1
"""

from __future__ import annotations

from ...devices import Profile
from ...errors import ModelError
from ...events import Event, describe
from ...ir import Graph
from ...ir.subgraph import inline, substitute
from ..rewrite import check

RULE = "inline_subgraphs"

DEEPEST = 100
"""Calls inside calls after which the model is taken to call itself for ever."""


def inline_subgraphs(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it until no composite operator is left (ModelError for one that calls itself)."""
    events: list[Event] = []
    for _ in range(DEEPEST):
        composites = [op for op in graph.ops if op.name == "STABLEHLO_COMPOSITE"]
        if not composites:
            return events
        for op in composites:
            called = graph.subgraphs[op.attrs["decomposition_subgraph_index"]]
            inputs = [op.operand(position) for position in range(len(op.inputs))]
            if (len(inputs), len(op.outputs)) != (len(called.inputs), len(called.outputs)):
                raise ModelError(f"operator {op.index} {op.name} does not fit its subgraph")
            events.append(Event(RULE, (describe(op),), None))
            substitute(graph, op, inline(graph, called, inputs, op.index))
            check(graph, RULE)
    raise ModelError(f"operator {composites[0].index} {composites[0].name} calls itself")
