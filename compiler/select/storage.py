"""The choice of an implementation per operator, and thereby of a storage per tensor.

An implementation fixes the storage of the tensors it reads and writes. If a reader needs another
storage than the writer's, a conversion kernel goes between them. The choice that moves the fewest
bytes, conversions included, is searched for.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..ir import Graph, Op, Tensor
from ..ir.connected import components
from ..ops import OPS, Implementation
from ..ops.base.storage import LINEAR, SLICED, stored_bytes
from ..ops.base.view import View
from ..ops.elementwise.centered import FROM_CENTERED
from ..target import Target
from .legality import Candidates

LAUNCH_BYTES = 1 << 15  # The cost of one more launch, in bytes of memory traffic.

# Operators, and names of their implementations that will most likely be replaced by views.
Superfluous = frozenset[tuple[Op, str]]

SWEEPS = 8  # Most rounds of improvement of a region.

# Which implementations a search starts with; the first of all where an operator has none such.
STARTS: tuple[Callable[[Implementation], bool], ...] = (
    lambda kernel: kernel.writes == SLICED,
    lambda kernel: kernel.writes == LINEAR,
    lambda kernel: LINEAR in (kernel.reads, kernel.writes),
)

# Share of the bytes that a later start must save: it has fewer slices, of which most views are.
SAVING = 0.05

Choice = dict[Op, Implementation]


def choose_storage(graph: Graph, suited: Mapping[Op, Candidates], target: Target) -> Choice:
    """The implementation for each operator, chosen among `suited` to move few bytes.

    Connected operators that can use more than one storage form a region. Each region is tried with
    all starts of `STARTS` and improved operator by operator; the first is kept unless another saves
    a share of `SAVING`.
    """
    costs = _Costs(graph, suited, target)
    storages = {
        op: {(kernel.reads, kernel.writes) for kernel in options.implementations}
        for op, options in suited.items()
    }
    free = [op for op, several in storages.items() if len(several) > 1]
    for region in _regions(graph, free):
        best, best_cost = None, 0.0
        for start in STARTS:
            for op in region:
                kernels = suited[op].implementations
                costs.choose(op, next((k for k in kernels if start(k)), kernels[0]))
            _improve(region, suited, costs)
            cost = sum(costs.of(op) for op in region)
            if best is None or cost < (1 - SAVING) * best_cost:
                best, best_cost = {op: costs.choice[op] for op in region}, cost
        for op, kernel in (best or {}).items():
            costs.choose(op, kernel)
    return costs.choice


def _regions(graph: Graph, free: Sequence[Op]) -> Iterator[list[Op]]:
    """The connected components of the operators `free`."""

    def near(one: Op | Tensor) -> Sequence[Op | Tensor]:
        if isinstance(one, Op):
            return (*one.reads, *one.outputs)
        return [*graph.consumers(one), *graph.producers([one])]

    for group in components([*free, *(tensor for op in free for tensor in near(op))], near):
        yield [one for one in group if isinstance(one, Op)]


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
    """The implementations chosen so far, and the bytes that operators move with them.

    The readers of each tensor are counted by the storage they need, so that evaluating a tensor
    takes the same time however many readers it has.
    """

    def __init__(self, graph: Graph, suited: Mapping[Op, Candidates], target: Target) -> None:
        self._graph, self._target = graph, target
        self._nothing = _superfluous(suited, target)
        self._wanted: defaultdict[Tensor, Counter[str]] = defaultdict(Counter)
        # The number of readers of each tensor that are not views.
        self._working: Counter[Tensor] = Counter()
        self.choice: Choice = {}
        for op, options in suited.items():
            self.choice[op] = options.implementations[0]
            self._count(op, 1)
        for tensor in (*graph.outputs, *graph.kept):
            self._wanted[tensor][LINEAR] += 1

    def choose(self, op: Op, kernel: Implementation) -> None:
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
        """Bytes that an operator and the conversions of its tensors move."""
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
        """Whether a producer may store row-major itself: assumed if all its readers are views."""
        producer = self._graph.producer(tensor)
        return (
            producer is not None
            and wanted == {LINEAR}
            and can_write_rows(producer, self.choice)
            and not self._working[tensor]
        )

    def _bytes(self, tensor: Tensor, storage: str) -> int:
        # Constants are packed as each kernel needs them.
        fits = storage if len(tensor.shape) <= 4 and not tensor.constant else LINEAR
        return stored_bytes(tensor, fits, self._target)


def _superfluous(suited: Mapping[Op, Candidates], target: Target) -> Superfluous:
    """Views, kernels that only copy and whose tensors can be views of each other, and conversions
    to integers, which the kernel that computes their operand does."""
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
            if copies_nothing or op.name == FROM_CENTERED:
                found.add((op, kernel.name))
    return frozenset(found)


def can_write_rows(producer: Op, choice: Choice) -> bool:
    """Whether the implementation chosen for an operator can store its slices row-major."""
    chosen = choice[producer]
    return chosen.fuses and (chosen.writes, len(producer.outputs)) == (SLICED, 1)


def written_storage(graph: Graph, tensor: Tensor, choice: Choice) -> str:
    """The storage in which a tensor is written; inputs are row-major."""
    producer = graph.producer(tensor)
    return choice[producer].writes if producer else LINEAR
