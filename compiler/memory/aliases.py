"""Groups of tensors in one stretch of memory, and how each of them lies there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from ...runtime.plan.records import Region
from ..ir import Graph, Tensor
from ..ops.base import StridedLayout, View
from ..schedule.sizes import ScheduledOp


class Aliases:
    """Which tensors share memory: each has a base that it lies within, or memory of its own.

    A tensor with memory of its own is the root of its group.
    """

    def __init__(
        self, graph: Graph, sizes: Mapping[Tensor, int], granules: Mapping[Tensor, int]
    ) -> None:
        """`sizes` are in bytes; `granules` are what the start of a tensor must be a multiple of."""
        self._graph = graph
        self._sizes = sizes
        self._granules = dict(granules)
        """What the start of each group must be a multiple of, as its members are indexed."""
        self._bases: dict[Tensor, tuple[Tensor, StridedLayout]] = {}
        self._inside: dict[Tensor, list[Tensor]] = {}
        """What lies within a tensor directly."""
        self._group_sizes = dict(sizes)
        self._regions: dict[Tensor, tuple[Region, int]] = {}

    # -- reading ----------------------------------------------------------------------------

    def root(self, tensor: Tensor) -> Tensor:
        """The tensor that stands for a tensor's group."""
        while tensor in self._bases:
            tensor = self._bases[tensor][0]
        return tensor

    def locate(self, tensor: Tensor) -> tuple[Tensor, StridedLayout]:
        """The root of a tensor's group, and how the tensor lies in it."""
        size = self._sizes[tensor]
        layout = StridedLayout(0, size, size)
        while tensor in self._bases:
            tensor, outer = self._bases[tensor]
            inner = within(size, layout, outer)
            assert inner is not None
            layout = inner
        return tensor, layout

    def size(self, root: Tensor) -> int:
        """Bytes of a group: its largest member's."""
        return self._group_sizes[root]

    def region(self, tensor: Tensor) -> tuple[Region, int]:
        """The memory that a tensor's group lies in."""
        return self._regions.get(self.root(tensor), (Region.ARENA, 0))

    def members(self, tensor: Tensor) -> Iterator[Tensor]:
        """A tensor and everything that lies within it."""
        waiting = [tensor]
        while waiting:
            member = waiting.pop()
            yield member
            waiting += self._inside.get(member, ())

    # -- what is the same bytes by itself ---------------------------------------------------

    def join(self, tensor: Tensor, source: Tensor) -> None:
        """Let a tensor that shares nothing yet be the bytes of another one."""
        root, size = self.root(source), self._sizes[tensor]
        self._bases[tensor] = (source, StridedLayout(0, size, size))
        self._inside.setdefault(source, []).append(tensor)
        self._group_sizes[root] = max(self._group_sizes[root], self._group_sizes[tensor])
        self._granules[root] = max(self._granules[root], self._granules[tensor])

    def settle(self) -> None:
        """Inputs, outputs and variables have memory of their own; all else lies in the arena."""
        for index, tensor in enumerate(self._graph.inputs):
            self._regions[self.root(tensor)] = (Region.INPUT, index)
        for index, tensor in enumerate(self._graph.outputs):
            self._regions.setdefault(self.root(tensor), (Region.OUTPUT, index))
        for index, tensor in enumerate(variables(self._graph)):
            self._regions[self.root(tensor)] = (Region.STATE, index)
            for written, kept in self._graph.kept.items():
                if kept is tensor:
                    self._regions[self.root(written)] = (Region.STATE, index)

    # -- views that save copies -------------------------------------------------------------

    def unsupported_reason(self, view: View) -> str | None:
        """Why a tensor cannot lie within its base."""
        size = self._sizes.get(view.tensor, -1)
        if size < 0 or view.base not in self._sizes:
            return "one of them is a constant"
        root, layout = self.locate(view.tensor)
        if root in self._regions:
            return f"{view.tensor.name} is an input or output of the model"
        if layout.start or not layout.contiguous or self._group_sizes[root] != size:
            return f"{view.tensor.name} shares the memory of something larger"
        base, outer = self.locate(view.base)
        if root is base:
            return f"{view.tensor.name} already lies there"
        if self.region(base)[0] == Region.STATE:
            return f"{view.base.name} is a variable, which may change before the view is read"
        inside = within(size, view.layout, outer)
        if inside is None or not self._fits(root, inside):
            return f"{view.tensor.name} would be cut along two axes of {base.name}"
        if inside.start % self._granules[root]:
            return f"{view.tensor.name} would not start at a whole slice"
        if view.layout.start + view.layout.span(size) > self._sizes[view.base]:
            return f"{view.tensor.name} takes more room than it has there"
        return None

    def _fits(self, root: Tensor, layout: StridedLayout) -> bool:
        """Whether everything within a tensor can stay there, once the tensor lies like that."""
        if layout.contiguous:
            return True
        members = ((self._sizes[m], self.locate(m)[1]) for m in self.members(root))
        return all(within(size, inner, layout) is not None for size, inner in members)

    def place(self, view: View) -> None:
        """Put a tensor into its base; there must be no reason against it."""
        root, base = self.root(view.tensor), self.root(view.base)
        self._bases[root] = (view.base, view.layout)
        self._inside.setdefault(view.base, []).append(root)
        self._granules[base] = max(self._granules[base], self._granules[root])

    def take_out(self, root: Tensor) -> None:
        """Give a group that was placed memory of its own again."""
        base, _ = self._bases.pop(root)
        self._inside[base].remove(root)


def alias(
    graph: Graph,
    scheduled: Sequence[ScheduledOp],
    sizes: Mapping[Tensor, int],
    granules: Mapping[Tensor, int],
) -> Aliases:
    """What shares memory by itself: results of operators that launch nothing are their inputs."""
    aliases = Aliases(graph, sizes, granules)
    for item in scheduled:
        if not item.launches and item.op.output.elements:
            aliases.join(item.op.output, item.op.operand(0))
    aliases.settle()
    return aliases


def within(size: int, inner: StridedLayout, outer: StridedLayout) -> StridedLayout | None:
    """How a tensor of that size, which lies like `inner` in one that lies like `outer`, lies there.

    None where that would take two different pitches.
    """
    if outer.contiguous:
        return replace(inner, start=outer.start + inner.start)
    number, inside = divmod(inner.start, outer.length)
    start = outer.start + number * outer.pitch + inside
    if inside + inner.span(size) <= outer.length:
        return replace(inner, start=start)
    if inner.contiguous:
        fits = inside == 0 and size % outer.length == 0
        return StridedLayout(start, outer.length, outer.pitch) if fits else None
    if inside + inner.length > outer.length or inner.pitch % outer.length:
        return None
    return StridedLayout(start, inner.length, inner.pitch // outer.length * outer.pitch)


def variables(graph: Graph) -> list[Tensor]:
    """What keeps its content between runs, in a fixed order; inputs are given anew each time."""
    read = [t for t in graph.tensors if t.variable and t not in graph.inputs]
    return list(dict.fromkeys((*read, *graph.kept.values())))
