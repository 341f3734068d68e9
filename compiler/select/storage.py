"""Which storage each tensor has: the choice of kernels that moves the fewest bytes.

A kernel fixes the storage of what it reads and writes. Where a reader wants another storage than
the writer has, a conversion is put between them, a kernel like any other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from ..ir import Graph, Op, Tensor
from ..ops import OPS, Implementation
from ..ops.base import LINEAR, SLICED, View, stored_bytes
from ..target import Target
from .legality import Candidates

LAUNCH_BYTES = 1 << 15
"""What launching one more kernel costs, in bytes of memory traffic."""

Superfluous = frozenset[tuple[Op, str]]
"""Operators with the names of those of their kernels that most likely copy nothing."""

SWEEPS = 8
"""Rounds of improvement after which a choice is good enough."""

Choice = dict[Op, Implementation]
"""The implementation of each operator."""


def choose_storage(graph: Graph, suited: Mapping[Op, Candidates], target: Target) -> Choice:
    """One kernel for each operator, so that the bytes moved, conversions included, are few.

    Operators with a free choice that touch each other form regions. Each region is tried with all
    its kernels sliced and all linear, improved operator by operator, and the better one is kept.
    """
    costs = _Costs(graph, suited, target)
    free = [
        op for op, options in suited.items() if len({*map(_storages, options.implementations)}) > 1
    ]
    for region in _regions(graph, free):
        best, best_cost = None, 0.0
        for storage in (SLICED, LINEAR):
            for op in region:
                kernels = suited[op].implementations
                costs.choose(op, next((k for k in kernels if k.writes == storage), kernels[0]))
            _improve(region, suited, costs)
            cost = sum(costs.of(op) for op in region)
            if best is None or cost < best_cost:
                best, best_cost = {op: costs.choice[op] for op in region}, cost
        for op, kernel in (best or {}).items():
            costs.choose(op, kernel)
    return costs.choice


def _storages(kernel: Implementation) -> tuple[str, str]:
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
            for rank, kernel in enumerate(suited[op].implementations):
                costs.choose(op, kernel)
                found.append((costs.of(op), rank))
            costs.choose(op, suited[op].implementations[min(found)[1]])
            changed |= costs.choice[op] is not before
        if not changed:
            return


class _Costs:
    """The kernels chosen so far, and the bytes that operators move with them.

    How many readers want each tensor in which storage is counted, so that a tensor with many
    readers costs no more time than others.
    """

    def __init__(self, graph: Graph, suited: Mapping[Op, Candidates], target: Target) -> None:
        self._graph, self._target = graph, target
        self._nothing = _superfluous(suited, target)
        self._wanted: defaultdict[Tensor, Counter[str]] = defaultdict(Counter)
        self._working: Counter[Tensor] = Counter()
        """How many readers of each tensor are more than views."""
        self.choice: Choice = {}
        for op, options in suited.items():
            self.choice[op] = options.implementations[0]
            self._count(op, 1)
        for tensor in (*graph.outputs, *graph.kept):
            self._wanted[tensor][LINEAR] += 1

    def choose(self, op: Op, kernel: Implementation) -> None:
        """Let an operator run with a kernel."""
        self._count(op, -1)
        self.choice[op] = kernel
        self._count(op, 1)

    def _count(self, op: Op, sign: int) -> None:
        chosen = self.choice[op]
        works = sign * ((op, chosen.name) not in self._nothing)
        for tensors, storage in ((op.inputs, chosen.reads), (op.epilogue_inputs, chosen.operands)):
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
                have = written_storage(self._graph, tensor, self.choice)
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
            and can_write_rows(producer, self.choice)
            and not self._working[tensor]
        )

    def _bytes(self, tensor: Tensor, storage: str) -> int:
        fits = storage if len(tensor.shape) <= 4 else LINEAR
        return stored_bytes(tensor.shape, fits, self._target)


def _superfluous(suited: Mapping[Op, Candidates], target: Target) -> Superfluous:
    """Views, and kernels that only copy parts to or from where they can lie anyway."""
    found = set()
    for op, options in suited.items():
        for kernel in options.implementations:
            same_storage = kernel.reads == kernel.writes
            if OPS[op.name].traits.aliases and not op.epilogue and same_storage:
                copies_nothing = all(
                    isinstance(launch.view, View) for launch in kernel.launches(op, target)
                )
            else:
                copies_nothing = kernel.is_view
            if copies_nothing:
                found.add((op, kernel.name))
    return frozenset(found)


def can_write_rows(producer: Op, choice: Choice) -> bool:
    """Whether a kernel that computes slice by slice can store its result row-major."""
    chosen = choice[producer]
    return chosen.fuses and (chosen.writes, len(producer.outputs)) == (SLICED, 1)


def written_storage(graph: Graph, tensor: Tensor, choice: Choice) -> str:
    producer = graph.producer(tensor)
    return choice[producer].writes if producer else LINEAR
