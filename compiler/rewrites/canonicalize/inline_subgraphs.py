"""Composite operators are replaced by the subgraph they decompose into.

y = STABLEHLO_COMPOSITE(x) decomposition_subgraph_index=1
becomes   the operators of subgraph 1
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import ModelError
from ...ir import Graph
from ...ir.inline import inline, substitute
from ...target import Target
from ..rewrite import Attempt, graph_rewrite

DEEPEST = 100
"""Depth of nested calls after which the model is assumed to call itself."""


@graph_rewrite(required=True)
def inline_subgraphs(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Until no composite operator is left (ModelError if one calls itself or does not match)."""
    for _ in range(DEEPEST):
        composites = [op for op in graph.ops if op.name == "STABLEHLO_COMPOSITE"]
        if not composites:
            return
        for op in composites:
            called = graph.subgraphs[op.attrs["decomposition_subgraph_index"]]
            inputs = [op.operand(position) for position in range(len(op.inputs))]
            if (len(inputs), len(op.outputs)) != (len(called.inputs), len(called.outputs)):
                raise ModelError(
                    f"operator {op!r} has {len(inputs)} inputs and {len(op.outputs)} outputs, but "
                    f"its subgraph has {len(called.inputs)} and {len(called.outputs)}"
                )
            yield Attempt((op,))
            substitute(graph, op, inline(graph, called, inputs, op))
    raise ModelError(f"operator {composites[0]!r} calls itself")
