"""Which tensors share memory: views of the same bytes, and parts that lie within a whole.

    y = RESHAPE(x)                y is x
    y = CONCATENATION(a, b)       a and b are written where y has them; nothing is copied
    a, b = SPLIT(x)               a and b are read where x has them

A part goes into its whole only if that does not raise the peak of live bytes: the memory of a
whole is taken from the moment its first part is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...runtime.plan import Region
from ..ir import Graph, Op, Tensor
from ..kernels.post import steps
from ..ops import Kernel
from ..ops.base import Launch, Part
from ..ops.litert_part import LITERT, host_only
from ..passes.rewrite import Event, describe
from .offsets import Interval, live_bytes

RULE = "share_memory"

ROUNDS = 16
"""How often one whole is given up to lower the peak, before all are."""

Place = tuple[int, int]
"""A launch: the number of its step, and its number there."""

Spans = dict[Tensor, tuple[int, int]]
"""First and last dispatch that touch a group, by the tensor that stands for it."""


@dataclass(frozen=True)
class Step:
    """An operator, its kernel and what it launches, in the order of execution."""

    op: Op
    kernel: Kernel
    launches: tuple[Launch, ...]


@dataclass(frozen=True)
class Placed:
    """What is left to launch once parts lie in their wholes."""

    plan: list[Step]
    events: tuple[Event, ...]


class Sharing:
    """Groups of tensors in one stretch of memory, each at its start, and where groups lie."""

    def __init__(
        self, graph: Graph, sizes: Mapping[Tensor, int], granules: Mapping[Tensor, int]
    ) -> None:
        self._graph = graph
        self._sizes = sizes
        self._granules = dict(granules)
        """What the start of each group must be a multiple of, as its members are indexed."""
        self._parents: dict[Tensor, tuple[Tensor, int]] = {}
        self._group_sizes = dict(sizes)
        self._regions: dict[Tensor, tuple[Region, int]] = {}

    def locate(self, tensor: Tensor) -> tuple[Tensor, int]:
        """The tensor that stands for a tensor's group, and where in it the tensor starts."""
        start = 0
        while tensor in self._parents:
            tensor, offset = self._parents[tensor]
            start += offset
        return tensor, start

    def root(self, tensor: Tensor) -> Tensor:
        return self.locate(tensor)[0]

    def size(self, root: Tensor) -> int:
        """Bytes of a group: its largest member's."""
        return self._group_sizes[root]

    def join(self, view: Tensor, source: Tensor) -> None:
        """Let a tensor that nothing shares yet be a view of another's bytes."""
        root = self.root(source)
        self._parents[view] = (source, 0)
        self._group_sizes[root] = max(self._group_sizes[root], self._group_sizes[view])
        self._granules[root] = max(self._granules[root], self._granules[view])

    def settle(self) -> None:
        """Inputs and outputs have memory of their own; everything else lies in the arena."""
        for index, tensor in enumerate(self._graph.inputs):
            self._regions[self.root(tensor)] = (Region.INPUT, index)
        for index, tensor in enumerate(self._graph.outputs):
            self._regions.setdefault(self.root(tensor), (Region.OUTPUT, index))
        for index, tensor in enumerate(variables(self._graph)):
            self._regions[self.root(tensor)] = (Region.STATE, index)
            for written, kept in self._graph.kept.items():
                if kept is tensor:
                    self._regions[self.root(written)] = (Region.STATE, index)

    def region(self, tensor: Tensor) -> tuple[Region, int]:
        return self._regions.get(self.root(tensor), (Region.ARENA, 0))

    def objection(self, part: Part) -> str | None:
        """Why a part cannot lie within its whole."""
        root, start = self.locate(part.tensor)
        size = self._sizes.get(part.tensor, -1)
        if size < 0 or part.whole not in self._sizes:
            return "one of them is a constant"
        if root in self._regions:
            return f"{part.tensor.name} is an input or output of the model"
        if start or self._group_sizes[root] != size:
            return f"{part.tensor.name} shares the memory of something larger"
        whole, inside = self.locate(part.whole)
        if root is whole:
            return f"{part.tensor.name} already lies there"
        if self.region(whole)[0] == Region.STATE:
            return f"{part.whole.name} is a variable, which may change before the part is read"
        if (inside + part.start) % self._granules[root]:
            return f"{part.tensor.name} would not start at a whole slice"
        if part.start + size > self._sizes[part.whole]:
            return f"{part.tensor.name} takes more room than it has there"
        return None

    def place(self, part: Part) -> None:
        """Put a part to which there is no objection into its whole."""
        root, whole = self.root(part.tensor), self.root(part.whole)
        self._parents[root] = (part.whole, part.start)
        self._granules[whole] = max(self._granules[whole], self._granules[root])

    def take_out(self, root: Tensor) -> None:
        """Give a group that was placed memory of its own again."""
        del self._parents[root]


def variables(graph: Graph) -> list[Tensor]:
    """What keeps its content between runs, in a fixed order; inputs are given anew each time."""
    read = [t for t in graph.tensors if t.variable and t not in graph.inputs]
    return list(dict.fromkeys((*read, *graph.kept.values())))


def share(
    graph: Graph,
    plan: Sequence[Step],
    sizes: Mapping[Tensor, int],
    granules: Mapping[Tensor, int],
) -> Sharing:
    """The views of a graph, joined; inputs and outputs settled."""
    sharing = Sharing(graph, sizes, granules)
    for step in plan:
        if not step.launches and step.op.output.elements:
            sharing.join(step.op.output, step.op.operand(0))
    sharing.settle()
    return sharing


def place_parts(graph: Graph, plan: Sequence[Step], sharing: Sharing) -> Placed:
    """Put parts into the wholes they are copied from or to, which saves the copies."""
    apart = _live(lifetimes(graph, plan, sharing), sharing)
    roots: dict[Place, Tensor] = {}
    reasons: dict[Op, str | None] = {}
    for place, op, part in _parts(plan):
        reason = sharing.objection(part)
        reasons[op] = reasons.get(op) or reason
        if reason is None:
            roots[place] = sharing.root(part.tensor)
            sharing.place(part)
    for number in range(ROUNDS):
        spans = lifetimes(graph, _without(plan, roots), sharing)
        live = _live(spans, sharing)
        peak = max(live, default=0)
        if peak <= max(apart, default=0):
            break
        wholes = {place: sharing.root(root) for place, root in roots.items()}
        last = number == ROUNDS - 1
        given_up = set(wholes.values()) if last else _longest(wholes, spans, live.index(peak))
        for place, whole in wholes.items():
            if whole in given_up:
                sharing.take_out(roots.pop(place))
                reasons[plan[place[0]].op] = "the peak of live memory would rise"
    events = tuple(Event(RULE, (describe(op),), reason) for op, reason in reasons.items())
    return Placed(_without(plan, roots), events)


def _parts(plan: Sequence[Step]) -> Iterator[tuple[Place, Op, Part]]:
    """Copies of parts, none of a kernel that also changes the storage or computes something."""
    for position, step in enumerate(plan):
        if step.op.post or step.kernel.reads != step.kernel.writes:
            continue
        for number, launch in enumerate(step.launches):
            if launch.part is not None:
                yield (position, number), step.op, launch.part


def _without(plan: Sequence[Step], roots: Mapping[Place, Tensor]) -> list[Step]:
    """The launches that are still needed."""
    left = []
    for position, step in enumerate(plan):
        numbered = enumerate(step.launches)
        kept = tuple(launch for number, launch in numbered if (position, number) not in roots)
        left.append(replace(step, launches=kept))
    return left


def _longest(wholes: Mapping[Place, Tensor], spans: Spans, step: int) -> set[Tensor]:
    """Of the wholes alive during a dispatch the one that lives longest, if there is any."""
    alive = [whole for whole in wholes.values() if spans[whole][0] <= step <= spans[whole][1]]
    longest = max(alive or wholes.values(), key=lambda root: spans[root][1] - spans[root][0])
    return {longest}


def lifetimes(graph: Graph, plan: Iterable[Step], sharing: Sharing) -> Spans:
    """First and last dispatch that touch each group."""
    spans: Spans = {}
    number = 0
    for step in plan:
        operands = [t for s in steps(step.op) for t in s.operands if isinstance(t, Tensor)]
        operands += step.op.early
        on_host = step.op.name == LITERT
        for launch in step.launches:
            for tensor in (*launch.reads.values(), *operands, *launch.writes.values()):
                if not tensor.constant and not (on_host and host_only(graph, tensor)):
                    root = sharing.root(tensor)
                    spans[root] = (spans.get(root, (number,))[0], number)
            number += not on_host  # what runs on the host comes before the next dispatch
    for tensor in graph.inputs:
        root = sharing.root(tensor)
        spans[root] = (-1, spans.get(root, (-1, -1))[1])
    for tensor in (*graph.outputs, *graph.kept):
        root = sharing.root(tensor)
        spans[root] = (spans.get(root, (-1, -1))[0], number)
    return spans


def _live(spans: Spans, sharing: Sharing) -> list[int]:
    """Bytes of the arena alive during each dispatch."""
    arena = [root for root in spans if sharing.region(root)[0] == Region.ARENA]
    sizes = [sharing.size(root) for root in arena]
    return live_bytes([Interval(sharing.size(root), *spans[root]) for root in arena], sizes)
