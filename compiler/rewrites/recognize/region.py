"""Regions: several operators to be replaced by one."""

from collections.abc import Collection

from ...ir import Graph, Op
from ...ir.connected import reached
from ..rewrite import also_used


def leading_to(graph: Graph, last: Op, known: Collection[Op]) -> list[Op]:
    """The operators among `known` on which `last` depends, including `last`, in order."""
    found = reached([last], lambda op: [p for p in graph.producers(op.reads) if p in known])
    return sorted(found, key=lambda op: (op.index, op is last))


def used_elsewhere(graph: Graph, region: Collection[Op], last: Op) -> str | None:
    """Why a region must stay, as a result other than that of `last` is used outside; or None."""
    results = (op.output for op in region if op is not last)
    return next((also_used(tensor) for tensor in results if graph.leaves(tensor, region)), None)


def remove_region(graph: Graph, region: Collection[Op]) -> None:
    for op in region:
        graph.remove(op)
