"""The partition of a graph into operators on the device and parts on LiteRT.

    t = TANH(x)                         t = TANH(x)
    v, i = TOPK_V2(t, k)      becomes   w = { v, i = TOPK_V2(t, k) | w = CAST(v) }
    w = CAST(v)                         y = NEG(w)
    y = NEG(w)

Operators that cannot run on the device or that the user names run on LiteRT. So does every operator
that shares with them a tensor the device cannot hold: strings, variables, and tensors whose shape
is known only while the model runs. So does a region of the device that computes too little to be
worth the copies to and from LiteRT.

A part is convex: it runs without interruption, so no path may leave it and come back. There are as
few parts as possible: stages of the device and of LiteRT alternate, each operator is in the
earliest stage possible, and each stage of LiteRT is one part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import Finding
from ..ir import FusedOp, Graph, Op
from ..ops.litert_part import LITERT
from .groups import Groups
from .regions import regions


@dataclass(frozen=True)
class Partition:
    """The parts that will run on LiteRT, not yet in the graph."""

    parts: tuple[FusedOp, ...]
    findings: Mapping[Op, Finding]
    """Why each of their operators runs on LiteRT."""

    def apply(self, graph: Graph) -> None:
        """Replace operators in the graph by their parts."""
        for part in self.parts:
            for op in part.core:
                graph.remove(op)
            graph.add(part)


def partition(graph: Graph, hosted: Mapping[Op, Finding]) -> Partition:
    """The partition of a graph in which the operators `hosted` must run on LiteRT."""
    groups = Groups(graph, hosted)
    groups.settle()
    while losing := [
        (region.ops, reason)
        for region in regions(graph, groups.findings)
        if (reason := region.loss()) is not None
    ]:
        for ops, reason in losing:
            groups.findings |= {op: op.finding(reason) for op in ops}
        groups.settle()
    parts = []
    for ops in groups.parts():
        outputs = [t for op in ops for t in op.outputs if graph.leaves(t, set(ops))]
        parts.append(FusedOp(LITERT, ops, (), outputs))
    return Partition(tuple(parts), groups.findings)
