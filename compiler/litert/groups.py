"""Groups of operators that must run on LiteRT together, and the stages in which groups run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...runtime.plan.storage import DEVICE_TYPES
from ..errors import Finding
from ..ir import Graph, Op, Tensor

SHARED_TYPES = frozenset(["resource", "variant"])
"""Types of tensors that stand for what a whole interpreter shares."""


class Groups:
    """The operators that go to LiteRT, and which of them must be in the same part."""

    def __init__(self, graph: Graph, findings: Mapping[Op, Finding]) -> None:
        self._graph = graph
        self.findings = dict(findings)
        """Why each operator goes to LiteRT."""
        self._leaders: dict[Op, Op] = {}
        """For operators that stand for no group, one that is nearer to the one that does."""

    def settle(self) -> None:
        """Join what must be together, until nothing is left to join.

        That are operators that share a tensor which cannot leave a part, and those between two
        operators of a group: a part runs in one go.
        """
        while self._join_inseparable() or self._join_between():
            pass

    def parts(self) -> list[list[Op]]:
        """The operators of each part, in the order in which parts and operators run."""
        stages = self._stages()
        parts: dict[int, list[Op]] = {}
        for op in self._graph.ops:
            if op in self.findings:
                parts.setdefault(stages[self._leader(op)], []).append(op)
        return [parts[stage] for stage in sorted(parts)]

    # -- joining ----------------------------------------------------------------------------

    def _join_inseparable(self) -> bool:
        changed = False
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
                behind, before = self._reachable(group, True), self._reachable(group, False)
                between = [op for op in behind if op in before]
                reason = f"it lies between operators of a part, {leader.index} {leader.name} in it"
                changed |= self._join(leader, between, reason)
        return changed

    def _inseparable(self, tensor: Tensor) -> str | None:
        """Why all operators that touch a tensor must be in one part; None if they need not."""
        if tensor.constant:
            return None
        if tensor.dynamic:
            return "its shape is known only while the model runs"
        if tensor.variable:
            return "it keeps its content between runs"
        if tensor.dtype in SHARED_TYPES:
            return "it stands for a variable"
        if tensor.dtype not in DEVICE_TYPES and self._graph.producer(tensor) is not None:
            return f"no device holds {tensor.dtype}"
        return None

    def _touching(self, tensor: Tensor) -> list[Op]:
        if tensor.dtype in SHARED_TYPES:
            # Handles find each other by name, so all of them belong together.
            return [op for op in self._graph.ops if op.name == "CALL_ONCE" or _shares(op)]
        producer = self._graph.producer(tensor)
        return [*([producer] if producer else []), *self._graph.consumers(tensor)]

    def _join(self, op: Op, others: Iterable[Op], reason: str) -> bool:
        changed = False
        for other in others:
            if other not in self.findings:
                why = f"it shares a tensor with operator {op.index} {op.name}: {reason}"
                self.findings[other] = Finding(other.index, other.name, why)
                changed = True
            first, second = self._leader(op), self._leader(other)
            if first is not second:
                self._leaders[second] = first
                changed = True
        return changed

    # -- groups as nodes of a graph ---------------------------------------------------------

    def _leader(self, op: Op) -> Op:
        """The operator that stands for its group."""
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
        return [p for t in op.reads if (p := self._graph.producer(t)) is not None]

    def _reachable(self, group: Sequence[Op], forward: bool) -> dict[Op, None]:
        """What lies behind (or before) a group, other groups taken as one operator each."""
        members = self._members(self.findings)
        own = set(group)
        found: dict[Op, None] = {}
        waiting = list(group)
        while waiting:
            for near in self._neighbours(waiting.pop(), forward):
                if near in own or near in found:
                    continue
                for op in members.get(self._leader(near), [near]):
                    found[op] = None
                    waiting.append(op)
        return found

    def _stages(self) -> dict[Op, int]:
        """The stage of each operator or group: even ones are the device's, odd ones LiteRT's."""
        members = self._members(self._graph.ops)
        sources = {
            leader: {self._leader(near) for op in ops for near in self._neighbours(op, False)}
            - {leader}
            for leader, ops in members.items()
        }
        waiting = {leader: len(before) for leader, before in sources.items()}
        readers: dict[Op, list[Op]] = {leader: [] for leader in members}
        for leader, before in sources.items():
            for source in before:
                readers[source].append(leader)
        ready = [leader for leader, count in waiting.items() if not count]
        stages: dict[Op, int] = {}
        for leader in ready:
            parity = int(leader in self.findings)
            latest = max((stages[source] for source in sources[leader]), default=parity)
            stages[leader] = latest + (latest % 2 != parity)
            for reader in readers[leader]:
                waiting[reader] -= 1
                if not waiting[reader]:
                    ready.append(reader)
        return stages


def _shares(op: Op) -> bool:
    return any(tensor.dtype in SHARED_TYPES for tensor in (*op.reads, *op.outputs))
