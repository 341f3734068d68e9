"""Which storage each tensor has: the choice of kernels that moves the fewest bytes.

A kernel fixes the storage of what it reads and writes. Where a reader wants another storage than
the writer has, a conversion is put between them, a kernel like any other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..devices import Profile
from ..ir import Graph, Op, Tensor
from ..ops import OPS, Kernel
from ..ops.base import LINEAR, SLICED, Part
from ..ops.convert import TO_LINEAR, TO_SLICED
from ..ops.packing import storage_bytes
from .legality import Candidates

LAUNCH_BYTES = 1 << 15
"""What launching one more kernel costs, in bytes of memory traffic."""

PARTS = frozenset(["CONCATENATION", "SLICE", "SPLIT", "SPLIT_V", "STRIDED_SLICE"])
"""Operators that may launch nothing because their tensors lie within each other."""

Free = frozenset[tuple[Op, str]]
"""Operators with the names of those of their kernels that most likely copy nothing."""

SWEEPS = 8
"""Rounds of improvement after which a choice is good enough."""

Choice = dict[Op, Kernel]


def choose_storage(graph: Graph, suited: Mapping[Op, Candidates], profile: Profile) -> Choice:
    """One kernel for each operator, so that the bytes moved, conversions included, are few.

    Operators with a free choice that touch each other form regions. Each region is tried with all
    its kernels sliced and all linear, improved operator by operator, and the better one is kept.
    """
    costs = _Costs(graph, suited, profile)
    free = [op for op, options in suited.items() if len({*map(_storages, options.kernels)}) > 1]
    for region in _regions(graph, free):
        best, best_cost = None, 0.0
        for storage in (SLICED, LINEAR):
            for op in region:
                kernels = suited[op].kernels
                costs.choose(op, next((k for k in kernels if k.writes == storage), kernels[0]))
            _improve(region, suited, costs)
            cost = sum(costs.of(op) for op in region)
            if best is None or cost < best_cost:
                best, best_cost = {op: costs.choice[op] for op in region}, cost
        for op, kernel in (best or {}).items():
            costs.choose(op, kernel)
    return costs.choice


def _storages(kernel: Kernel) -> tuple[str, str]:
    return kernel.reads, kernel.writes


def _regions(graph: Graph, free: Iterable[Op]) -> list[list[Op]]:
    """Connected parts of the operators with a choice, in order."""
    left = dict.fromkeys(free)
    seen: set[Tensor] = set()
    regions = []
    while left:
        region, open_ops = [], [next(iter(left))]
        left.pop(open_ops[0])
        while open_ops:
            op = open_ops.pop()
            region.append(op)
            for tensor in (*op.reads, *op.outputs):
                if tensor in seen:
                    continue
                seen.add(tensor)
                producer = graph.producer(tensor)
                for other in (*graph.consumers(tensor), *([producer] if producer else [])):
                    if other in left:
                        left.pop(other)
                        open_ops.append(other)
        regions.append(region)
    return regions


def _improve(region: list[Op], suited: Mapping[Op, Candidates], costs: _Costs) -> None:
    for _ in range(SWEEPS):
        changed = False
        for op in region:
            before, found = costs.choice[op], []
            for rank, kernel in enumerate(suited[op].kernels):
                costs.choose(op, kernel)
                found.append((costs.of(op), rank))
            costs.choose(op, suited[op].kernels[min(found)[1]])
            changed |= costs.choice[op] is not before
        if not changed:
            return


class _Costs:
    """The kernels chosen so far, and the bytes that operators move with them.

    How many readers want each tensor in which storage is counted, so that a tensor with many
    readers costs no more time than others.
    """

    def __init__(self, graph: Graph, suited: Mapping[Op, Candidates], profile: Profile) -> None:
        self._graph, self._profile = graph, profile
        self._nothing = _free(suited, profile)
        self._wanted: defaultdict[Tensor, Counter[str]] = defaultdict(Counter)
        self._working: Counter[Tensor] = Counter()
        """How many readers of each tensor are more than views."""
        self.choice: Choice = {}
        for op, options in suited.items():
            self.choice[op] = options.kernels[0]
            self._count(op, 1)
        for tensor in (*graph.outputs, *graph.kept):
            self._wanted[tensor][LINEAR] += 1

    def choose(self, op: Op, kernel: Kernel) -> None:
        """Let an operator run with a kernel."""
        self._count(op, -1)
        self.choice[op] = kernel
        self._count(op, 1)

    def _count(self, op: Op, sign: int) -> None:
        kernel = self.choice[op]
        works = sign * ((op, kernel.name) not in self._nothing)
        for tensors, storage in ((op.inputs, kernel.reads), (op.post_inputs, kernel.operands)):
            for tensor in tensors:
                if tensor is not None and not tensor.constant:
                    self._wanted[tensor][storage] += sign
                    self._working[tensor] += works

    def of(self, op: Op) -> float:
        """Bytes an operator moves, and those of the conversions around it."""
        kernel = self.choice[op]
        total = 0.0
        if (op, kernel.name) not in self._nothing:
            reads = sum(self._bytes(t, kernel.reads) for t in op.inputs if t is not None)
            total += reads + sum(self._bytes(t, kernel.writes) for t in op.outputs)
        for tensor in dict.fromkeys((*op.reads, *op.outputs)):
            if not tensor.constant:
                have = _written(self._graph, tensor, self.choice)
                wanted = {storage for storage, count in self._wanted[tensor].items() if count}
                if wanted - {have} and not self._absorbed(tensor, wanted):
                    both = (self._bytes(tensor, storage) for storage in (LINEAR, SLICED))
                    total += sum(both) + LAUNCH_BYTES
        return total

    def _absorbed(self, tensor: Tensor, wanted: set[str]) -> bool:
        """Whether the kernel that computes a tensor writes it row-major itself, for mere views."""
        producer = self._graph.producer(tensor)
        return (
            producer is not None
            and wanted == {LINEAR}
            and _can_write_rows(producer, self.choice)
            and not self._working[tensor]
        )

    def _bytes(self, tensor: Tensor, storage: str) -> int:
        sliced = storage == SLICED and len(tensor.shape) <= 4
        return storage_bytes(tensor.shape, self._profile if sliced else None)


def _free(suited: Mapping[Op, Candidates], profile: Profile) -> Free:
    """Views, and kernels that only copy parts to or from where they can lie anyway."""
    found = set()
    for op, options in suited.items():
        for kernel in options.kernels:
            parts = op.name in PARTS and not op.post and kernel.reads == kernel.writes
            if kernel.name.startswith("view") or (
                parts and all(isinstance(launch.part, Part) for launch in kernel.build(op, profile))
            ):
                found.add((op, kernel.name))
    return frozenset(found)


def _can_write_rows(producer: Op, choice: Choice) -> bool:
    kernel = choice[producer]
    return kernel.fuses and (kernel.writes, len(producer.outputs)) == (SLICED, 1)


def _written(graph: Graph, tensor: Tensor, choice: Choice) -> str:
    producer = graph.producer(tensor)
    return choice[producer].writes if producer else LINEAR


def absorb_conversions(graph: Graph, choice: Choice) -> None:
    """Let kernels that compute slice by slice write row-major where that is all readers want.

    A conversion to row-major that alone reads such a kernel's result goes away.
    """
    for op in graph.ops:
        producer = graph.producer(op.operand(0)) if op.name == TO_LINEAR else None
        if producer is None or graph.only_reader(op.operand(0)) is not op:
            continue
        kernel = choice[producer]
        if _can_write_rows(producer, choice):
            name = f"{kernel.name}_to_linear"
            choice[producer] = replace(kernel, name=name, writes=LINEAR, computes=SLICED)
            result = op.output
            result.name = producer.output.name
            graph.remove(op)
            graph.set_outputs(producer, (result,))


def insert_conversions(graph: Graph, choice: Choice, profile: Profile) -> dict[Tensor, str]:
    """Put conversions where a reader wants another storage; returns each tensor's storage."""

    def convert(tensor: Tensor, storage: str, index: int) -> Tensor:
        name = TO_SLICED if storage == SLICED else TO_LINEAR
        converted = Tensor(f"{tensor.name}/{storage}", tensor.shape, tensor.dtype)
        op = graph.add(Op(name, (tensor,), (converted,), index=index))
        choice[op] = next(k for k in OPS[name].kernels if k.when(op, profile) is None)
        return converted

    for tensor in graph.tensors:
        if tensor.constant:
            continue
        have = _written(graph, tensor, choice)
        producer = graph.producer(tensor)
        readers = graph.consumers(tensor)
        converted: Tensor | None = None
        for op in readers:
            kernel = choice[op]
            index = producer.index if producer else -1
            if kernel.reads != have and any(tensor is t for t in op.inputs):
                converted = converted or convert(tensor, kernel.reads, index)
                swapped = [converted if t is tensor else t for t in op.inputs]
                graph.set_inputs(op, swapped)
            if kernel.writes != have and any(tensor is t for t in op.post_inputs):
                converted = converted or convert(tensor, kernel.writes, index)
                posts = [converted if t is tensor else t for t in op.post_inputs]
                graph.set_inputs(op, op.inputs, posts)
        if have != LINEAR and graph.is_output(tensor):
            converted = converted or convert(tensor, LINEAR, producer.index if producer else -1)
            graph.outputs = [converted if t is tensor else t for t in graph.outputs]
    absorb_conversions(graph, choice)
    return {t: _written(graph, t, choice) for t in graph.tensors if not t.constant}
