"""Several operators that are to be replaced by one: which they are, and whether they can go."""

from __future__ import annotations

from collections.abc import Collection

from ...ir import Graph, Op, Tensor


def leading_to(graph: Graph, last: Op, known: Collection[Op]) -> list[Op]:
    """The known operators that a last one follows from, itself included, in order."""
    found: set[Op] = set()
    waiting = [last]
    while waiting:
        op = waiting.pop()
        if op in known and op not in found:
            found.add(op)
            producers = (graph.producer(tensor) for tensor in op.reads)
            waiting += [producer for producer in producers if producer is not None]
    return sorted(found, key=lambda op: (op.index, op is last))


def needed_outside(graph: Graph, region: Collection[Op], last: Op) -> Tensor | None:
    """A value inside a region that more is needed for than its last operator."""
    for op in region:
        readers = graph.consumers(op.output)
        inside = all(reader in region for reader in readers)
        if op is not last and (graph.is_output(op.output) or not inside):
            return op.output
    return None


def remove_region(graph: Graph, region: Collection[Op]) -> None:
    """Take the operators of a region out of the graph."""
    for op in region:
        graph.remove(op)
