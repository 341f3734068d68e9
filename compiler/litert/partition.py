"""The partition of a graph into operators on the device and parts on LiteRT.

    t = TANH(x)                         t = TANH(x)
    v, i = TOPK_V2(t, k)      becomes   w = { v, i = TOPK_V2(t, k) | w = CAST(v) }
    w = CAST(v)                         y = NEG(w)
    y = NEG(w)

Operators that cannot run on the device or that the user names run on LiteRT. So does every operator
that shares with them a tensor the device cannot hold: strings, variables, and tensors whose shape
is known only while the model runs. Adjacent operators that only move data also run on LiteRT, since
copying their tensors to the device would gain nothing.

A part is convex: it runs without interruption, so no path may leave it and come back. There are as
few parts as possible: stages of the device and of LiteRT alternate, each operator is in the
earliest stage possible, and each stage of LiteRT is one part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import Finding
from ..ir import FusedOp, Graph, Op, Tensor
from ..ops import OPS
from ..ops.litert_part import LITERT
from .groups import Groups


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
    for op in _idle(graph, groups.findings):
        reason = "it only moves data to or from operators on LiteRT"
        groups.findings[op] = Finding(op.index, op.name, reason)
    groups.settle()
    parts = []
    for ops in groups.parts():
        outputs = [t for op in ops for t in op.outputs if _leaves(graph, t, set(ops))]
        parts.append(FusedOp(LITERT, ops, (), outputs))
    return Partition(tuple(parts), groups.findings)


def _idle(graph: Graph, hosted: Mapping[Op, Finding]) -> list[Op]:
    """The device's operators in regions that only move data and are adjacent to `hosted`."""
    idle = []
    left = {op: None for op in graph.ops if op not in hosted}
    while left:
        region, touches = [], False
        waiting = [next(iter(left))]
        while waiting:
            op = waiting.pop()
            if op in hosted:
                touches = True
            elif op in left:
                del left[op]
                region.append(op)
                waiting += _neighbours(graph, op)
        if touches and all(map(_moves, region)):
            idle += region
    return idle


def _moves(op: Op) -> bool:
    traits = OPS[op.name].traits
    return traits.reshapes or traits.aliases


def _neighbours(graph: Graph, op: Op) -> list[Op]:
    near = [reader for tensor in op.outputs for reader in graph.consumers(tensor)]
    return near + [producer for t in op.reads if (producer := graph.producer(t)) is not None]


def _leaves(graph: Graph, tensor: Tensor, members: set[Op]) -> bool:
    return graph.is_output(tensor) or any(op not in members for op in graph.consumers(tensor))
