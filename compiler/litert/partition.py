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
earliest stage possible, and each stage of LiteRT is one part. Groups of operators that must be in
the same part are kept as a disjoint-set forest over operators.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from ...runtime.plan.storage import DEVICE_TYPES
from ..errors import Finding
from ..frontend.operator_options import run_by
from ..ir import FusedOp, Graph, Op, Tensor
from ..ir.connected import reached
from ..ops.litert_part import LITERT
from .regions import regions

# Types of handles to resources, which live in one LiteRT interpreter.
SHARED_TYPES = frozenset(["resource", "variant"])


class Groups:
    """The operators that run on LiteRT, and which of them must be in the same part."""

    def __init__(self, graph: Graph, findings: Mapping[Op, Finding]) -> None:
        self._graph = graph
        self.findings = dict(findings)  # Why each operator runs on LiteRT.
        # The parent of each operator that does not lead its group, in the disjoint-set forest.
        self._leaders: dict[Op, Op] = {}
        # Handles refer to variables by name, not by edges of the graph, so that all operators on
        # any variable must be in one interpreter.
        self._sharing = [op for op in graph.ops if _shares(op, graph.subgraphs)]

    def settle(self) -> None:
        """Join groups until every group can be a part.

        Operators are joined if they share a tensor that cannot leave a part. A part runs without
        interruption, so that operators on a path between two operators of a group join it too.
        """
        # Joining may put further operators on a path between members, and add shared tensors, so
        # both steps are repeated until neither changes anything.
        while self._join_inseparable() or self._join_between():
            pass

    def parts(self) -> list[list[Op]]:
        """The operators of each part, parts and operators in the order of execution."""
        stages = self._stages()
        parts: dict[int, list[Op]] = {}
        for op in self._graph.ops:
            if op in self.findings:
                parts.setdefault(stages[self._leader(op)], []).append(op)
        return [parts[stage] for stage in sorted(parts)]

    # -- joining ----------------------------------------------------------------------------

    def _join_inseparable(self) -> bool:
        changed = False
        first = next((op for op in self.findings if op in self._sharing), None)
        if first is not None:
            changed |= self._join(first, self._sharing, "both use variables or tables")
        for op in list(self.findings):
            for tensor in (*op.reads, *op.outputs):
                reason = self._inseparable(tensor)
                if reason is not None:
                    changed |= self._join(op, self._touching(tensor), reason)
        return changed

    def _join_between(self) -> bool:
        changed = False
        for leader, group in self._members(self.findings).items():
            if len(group) > 1:
                following, before = self._reachable(group, True), self._reachable(group, False)
                between = [op for op in following if op in before]
                reason = f"it lies between operators of the part of {leader.index} {leader.name}"
                changed |= self._join(leader, between, reason)
        return changed

    def _inseparable(self, tensor: Tensor) -> str | None:
        """Why all operators that touch a tensor must be in one part; None if they need not be."""
        if tensor.constant:
            return None
        if tensor.dynamic:
            return f"the shape of {tensor.name} is known only while the model runs"
        if tensor.variable:
            return f"{tensor.name} keeps its content between runs"
        if tensor.dtype not in DEVICE_TYPES and self._graph.producer(tensor) is not None:
            return f"the device cannot hold {tensor.dtype}"
        return None

    def _touching(self, tensor: Tensor) -> list[Op]:
        """The operators that must join a group because of a tensor."""
        return [*self._graph.producers([tensor]), *self._graph.consumers(tensor)]

    def _join(self, op: Op, others: Iterable[Op], reason: str) -> bool:
        """Add operators to the group of `op`; returns whether that changed anything."""
        changed = False
        for other in others:
            if other not in self.findings:
                why = f"it must run with operator {op.index} {op.name}: {reason}"
                self.findings[other] = other.finding(why)
                changed = True
            first, second = self._leader(op), self._leader(other)
            if first is not second:
                self._leaders[second] = first
                changed = True
        return changed

    # -- groups as nodes of a graph ---------------------------------------------------------

    def _leader(self, op: Op) -> Op:
        """The operator that leads a group, itself if it is in none."""
        while op in self._leaders:
            op = self._leaders[op]
        return op

    def _members(self, ops: Iterable[Op]) -> dict[Op, list[Op]]:
        members: dict[Op, list[Op]] = {}
        for op in ops:
            members.setdefault(self._leader(op), []).append(op)
        return members

    def _neighbours(self, op: Op, forward: bool) -> list[Op]:
        if forward:
            return [reader for t in op.outputs for reader in self._graph.consumers(t)]
        return self._graph.producers(op.reads)

    def _reachable(self, group: Sequence[Op], forward: bool) -> dict[Op, None]:
        """The operators after (or before) a group, where entering another group reaches all of it.

        Two groups that each depend on the other, through different members, are found this way:
        they cannot run one after the other and must be joined.
        """
        members = self._members(self.findings)

        def near(op: Op) -> Iterator[Op]:
            for each in self._neighbours(op, forward):
                yield from members.get(self._leader(each), [each])

        own = set(group)
        return {op: None for op in reached(group, near) if op not in own}

    def _stages(self) -> dict[Op, int]:
        """The stage of each group's leader: even stages run on the device, odd ones on LiteRT.

        Each operator gets the earliest stage of its parity that is not before any operator it
        reads, in topological order. No path between two operators on LiteRT in the same stage then
        leaves LiteRT, so that the stage can be one part. The earliest stages make the fewest parts.
        """
        members = self._members(self._graph.ops)
        sources = {
            leader: {self._leader(near) for op in ops for near in self._neighbours(op, False)}
            - {leader}
            for leader, ops in members.items()
        }
        stages: dict[Op, int] = {}
        for leader in TopologicalSorter(sources).static_order():
            parity = int(leader in self.findings)
            latest = max((stages[source] for source in sources[leader]), default=parity)
            stages[leader] = latest + (latest % 2 != parity)
        return stages


def _shares(op: Op, subgraphs: Mapping[int, Graph]) -> bool:
    """Whether an operator, or one that it runs, uses a handle."""
    run = run_by(op, subgraphs)
    return any(t.dtype in SHARED_TYPES for each in run for t in (*each.reads, *each.outputs))


@dataclass(frozen=True)
class Partition:
    """The parts that will run on LiteRT, not yet in the graph."""

    parts: tuple[FusedOp, ...]
    findings: Mapping[Op, Finding]  # Why each of their operators runs on LiteRT.

    def apply(self, graph: Graph) -> None:
        """Replace operators in the graph by their parts."""
        for part in self.parts:
            for op in part.core:
                graph.remove(op)
            graph.add(part)


def partition(graph: Graph, hosted: Mapping[Op, Finding], weighed: bool = True) -> Partition:
    """The partition of a graph in which the operators `hosted` must run on LiteRT.

    If `weighed`, so do the regions that are not worth their exchange with it.
    """
    groups = Groups(graph, hosted)
    groups.settle()
    while losing := [
        (region.ops, reason)
        for region in regions(graph, groups.findings)
        if weighed and (reason := region.loss()) is not None
    ]:
        for ops, reason in losing:
            groups.findings |= {op: op.finding(reason) for op in ops}
        groups.settle()
    parts = []
    for ops in groups.parts():
        outputs = [t for op in ops for t in op.outputs if graph.leaves(t, set(ops))]
        parts.append(FusedOp(LITERT, ops, (), outputs))
    return Partition(tuple(parts), groups.findings)
