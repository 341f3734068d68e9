"""Cutting a graph into what the device runs and parts that run on LiteRT.

    t = TANH(x)                         t = TANH(x)
    v, i = TOPK_V2(t, k)      becomes   w = tflgpu.litert(t, k) part=TOPK_V2 + CAST
    w = CAST(v)                         y = NEG(w)
    y = NEG(w)

Operators go to LiteRT that cannot run on the device, or that the user names, and with them every
operator that shares a tensor with them which no device holds: strings, variables, tensors whose
shape only a run tells. A part is convex: no path leaves it and comes back, since it runs in one
go. As few parts as possible are made: each operator belongs to the earliest stage it can belong
to, stages of the device and of LiteRT take turns, and a stage of LiteRT is one part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...runtime.plan.storage import DEVICE_TYPES
from ..errors import Finding, OptionError
from ..frontend.tflite_schema import refers_to_subgraph
from ..ir import Graph, Op, Tensor
from ..ops.litert_part import LITERT, Part
from ..ops.reshape import RESHAPES

SHARED_TYPES = frozenset(["resource", "variant"])
"""Types of tensors that stand for what a whole interpreter shares."""


class Cut:
    """Which operators go to LiteRT, and why; it grows until what is left runs on the device."""

    def __init__(self) -> None:
        self.findings: dict[int, Finding] = {}
        """By the operator's position in the model file."""
        self.kept_inside: dict[str, str] = {}
        """Names of tensors that no part may have at its edge, with the reason."""
        self._size = 0

    def add(self, findings: Iterable[Finding]) -> bool:
        """Whether that, or what parts have kept inside since the last call, changes the cut."""
        for finding in findings:
            self.findings.setdefault(finding.index, finding)
        before, self._size = self._size, len(self.findings) + len(self.kept_inside)
        return self._size > before

    def add_everything(self, graph: Graph) -> bool:
        """The same, for all operators of a model."""
        reason = "it cannot be told apart from an operator that runs on LiteRT"
        return self.add(Finding(op.index, op.name, reason) for op in graph.ops)

    def reasons(self) -> tuple[Finding, ...]:
        """Why each operator runs on LiteRT, in the order of the model file."""
        return tuple(self.findings[index] for index in sorted(self.findings))

    def apply(self, graph: Graph, original: Graph) -> None:
        """Put `tflgpu.litert` operators into a graph; `original` is the same, read once more."""
        twins = dict(zip(graph.ops, original.ops, strict=True))
        for number, ops in enumerate(self._parts(graph)):
            _replace(graph, ops, [twins[op] for op in ops], original, number, self)

    def _add_views(self, graph: Graph) -> None:
        """Views between operators on LiteRT would cross to the device and back for nothing."""
        for op in graph.ops:
            source = graph.producer(op.operand(0)) if op.name in RESHAPES and op.inputs else None
            around = [source, *graph.consumers(op.output)] if source else []
            if around and all(near.index in self.findings for near in around if near):
                reason = "it only views what runs on LiteRT before and behind it"
                self.add([Finding(op.index, op.name, reason)])

    def _parts(self, graph: Graph) -> list[list[Op]]:
        self._add_views(graph)
        groups = _Groups(graph, [op for op in graph.ops if op.index in self.findings])
        while groups.settle(self):
            pass
        stages = groups.stages()
        parts: dict[int, list[Op]] = {}
        for op in groups.hosted:
            parts.setdefault(stages[groups.leader(op)], []).append(op)
        order = {op: position for position, op in enumerate(graph.ops)}
        return [sorted(parts[stage], key=order.__getitem__) for stage in sorted(parts)]


def chosen_by_user(graph: Graph, wanted: Sequence[str | int]) -> list[Finding]:
    """Findings for the operators of those names and positions (OptionError for one not there)."""
    findings = []
    for item in wanted:
        matched = [op for op in graph.ops if item in (op.name, op.index)]
        if not matched:
            names = ", ".join(sorted({op.name for op in graph.ops}))
            raise OptionError(
                f"fallback_ops: the model has no operator {item!r}; it has {len(graph)}: {names}"
            )
        findings += [Finding(op.index, op.name, "fallback_ops names it") for op in matched]
    return findings


class _Groups:
    """The operators that go to LiteRT, those joined that must be in the same part."""

    def __init__(self, graph: Graph, hosted: Iterable[Op]) -> None:
        self._graph = graph
        self.hosted = dict.fromkeys(hosted)
        self._leaders: dict[Op, Op] = {}
        self._reasons: dict[Op, str] = {}

    def leader(self, op: Op) -> Op:
        """The operator that stands for its group."""
        while op in self._leaders:
            op = self._leaders[op]
        return op

    def settle(self, cut: Cut) -> bool:
        """Join what must be together; whether anything was."""
        changed = False
        for op in list(self.hosted):
            for tensor in (*op.reads, *op.outputs):
                reason = self._inseparable(tensor, cut)
                if reason is not None:
                    changed |= self._join(op, self._touching(tensor), reason, cut)
        members: dict[Op, list[Op]] = {}
        for op in self.hosted:
            members.setdefault(self.leader(op), []).append(op)
        for leader, group in members.items():
            if len(group) > 1:
                behind, before = self._reachable(group, True), self._reachable(group, False)
                between = [op for op in behind if op in before]
                reason = f"it lies between operators of a part, {leader.index} {leader.name} in it"
                changed |= self._join(leader, between, reason, cut)
        return changed

    def _inseparable(self, tensor: Tensor, cut: Cut) -> str | None:
        """Why all operators that touch a tensor must be in one part; None if they need not."""
        if tensor.constant:
            return None
        if tensor.name in cut.kept_inside:
            return cut.kept_inside[tensor.name]
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

    def _join(self, op: Op, others: Iterable[Op], reason: str, cut: Cut) -> bool:
        changed = False
        for other in others:
            if other not in self.hosted:
                why = f"it shares a tensor with operator {op.index} {op.name}: {reason}"
                cut.add([Finding(other.index, other.name, why)])
                self.hosted[other] = None
                changed = True
            first, second = self.leader(op), self.leader(other)
            if first is not second:
                self._leaders[second] = first
                changed = True
        return changed

    def _neighbours(self, op: Op, forward: bool) -> list[Op]:
        if forward:
            return [reader for t in op.outputs for reader in self._graph.consumers(t)]
        return [p for t in op.reads if (p := self._graph.producer(t)) is not None]

    def _reachable(self, group: Sequence[Op], forward: bool) -> dict[Op, None]:
        """What lies behind (or before) a group, other groups taken as one operator each."""
        members: dict[Op, list[Op]] = {}
        for op in self.hosted:
            members.setdefault(self.leader(op), []).append(op)
        own = set(group)
        found: dict[Op, None] = {}
        waiting = list(group)
        while waiting:
            for near in self._neighbours(waiting.pop(), forward):
                if near in own or near in found:
                    continue
                for op in members.get(self.leader(near), [near]):
                    found[op] = None
                    waiting.append(op)
        return found

    def stages(self) -> dict[Op, int]:
        """The stage of each operator or group: even ones are the device's, odd ones LiteRT's."""
        members: dict[Op, list[Op]] = {}
        for op in self._graph.ops:
            members.setdefault(self.leader(op), []).append(op)
        sources = {
            leader: {self.leader(near) for op in ops for near in self._neighbours(op, False)}
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
            parity = int(leader in self.hosted)
            latest = max((stages[source] for source in sources[leader]), default=parity)
            stages[leader] = latest + (latest % 2 != parity)
            for reader in readers[leader]:
                waiting[reader] -= 1
                if not waiting[reader]:
                    ready.append(reader)
        return stages


def _shares(op: Op) -> bool:
    return any(tensor.dtype in SHARED_TYPES for tensor in (*op.reads, *op.outputs))


def _replace(
    graph: Graph, ops: Sequence[Op], twins: Sequence[Op], original: Graph, number: int, cut: Cut
) -> None:
    """Let one operator stand for several; their twins become the part it runs."""
    members = set(ops)
    inputs: dict[Tensor, Tensor] = {}
    outputs: dict[Tensor, Tensor] = {}
    outside: list[bool] = []
    for op, twin in zip(ops, twins, strict=True):
        for tensor, edge in zip(op.reads, twin.reads, strict=True):
            kept = tensor.constant or (tensor.variable and tensor not in graph.inputs)
            if not kept and graph.producer(tensor) not in members:
                inputs[tensor] = edge
        for tensor, edge in zip(op.outputs, twin.outputs, strict=True):
            read = any(reader not in members for reader in graph.consumers(tensor))
            if read or graph.is_output(tensor):
                outputs[tensor] = edge
                outside.append(read)
    part = Graph(f"part {number}")
    for twin in twins:
        part.add(twin)
    part.outputs = list(outputs.values())
    part.output_names = [tensor.name for tensor in part.outputs]
    part.subgraphs = _referred(twins, original.subgraphs)
    for op in ops:
        graph.remove(op)
    findings = tuple(cut.findings[op.index] for op in ops)
    content = Part(part, tuple(inputs.values()), findings, tuple(outside), cut.kept_inside)
    graph.add(Op(LITERT, tuple(inputs), tuple(outputs), {"part": content}, ops[0].index))


def _referred(ops: Iterable[Op], subgraphs: Mapping[int, Graph]) -> dict[int, Graph]:
    """The subgraphs that operators refer to, directly or through one another."""
    found: dict[int, Graph] = {}
    waiting = list(ops)
    while waiting:
        for key, index in waiting.pop().attrs.items():
            if refers_to_subgraph(key) and index not in found:
                found[index] = subgraphs[index]
                waiting += subgraphs[index].ops
    return dict(sorted(found.items()))
