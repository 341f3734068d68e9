"""Inlining of subgraphs into the graph that calls them."""

from collections.abc import Sequence

from .graph import Graph
from .op import Op, copies
from .tensor import Tensor


def inline(graph: Graph, called: Graph, inputs: Sequence[Tensor], caller: Op) -> list[Tensor]:
    """Add copies of a subgraph's operators to a graph, reading `inputs`; returns its outputs."""
    ops, new = copies(called.ops, dict(zip(called.inputs, inputs, strict=True)))
    for op in ops:
        op.index, op.origins = caller.index, caller.origins
        graph.add(op)
    return [new.get(tensor, tensor) for tensor in called.outputs]


def substitute(graph: Graph, op: Op, results: Sequence[Tensor]) -> None:
    """Replace an operator's outputs by `results`, and remove the operator.

    Results computed for this purpose take over the outputs' names, by which users know them.
    """
    outputs = op.outputs
    for old, new in zip(outputs, results, strict=True):
        graph.replace(old, new)
    graph.remove(op)
    for old, new in zip(outputs, results, strict=True):
        producer = graph.producer(new)
        if producer is not None and producer.index == op.index:
            new.name = old.name
