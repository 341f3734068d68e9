"""Groups of tensors in one stretch of memory, and how each of them lies there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ...runtime.plan.records import Region
from ..ir import Graph, Tensor
from ..ops.base import Part, Runs


class Sharing:
    """Groups of tensors in one stretch of memory, each in runs of it, and where groups lie."""

    def __init__(
        self, graph: Graph, sizes: Mapping[Tensor, int], granules: Mapping[Tensor, int]
    ) -> None:
        self._graph = graph
        self._sizes = sizes
        self._granules = dict(granules)
        """What the start of each group must be a multiple of, as its members are indexed."""
        self._parents: dict[Tensor, tuple[Tensor, Runs]] = {}
        self._children: dict[Tensor, list[Tensor]] = {}
        self._group_sizes = dict(sizes)
        self._regions: dict[Tensor, tuple[Region, int]] = {}

    def locate(self, tensor: Tensor) -> tuple[Tensor, Runs]:
        """The tensor that stands for a tensor's group, and how the tensor lies in it."""
        size = self._sizes[tensor]
        runs = Runs(0, size, size)
        while tensor in self._parents:
            tensor, outer = self._parents[tensor]
            inner = within(size, runs, outer)
            assert inner is not None
            runs = inner
        return tensor, runs

    def root(self, tensor: Tensor) -> Tensor:
        while tensor in self._parents:
            tensor = self._parents[tensor][0]
        return tensor

    def size(self, root: Tensor) -> int:
        """Bytes of a group: its largest member's."""
        return self._group_sizes[root]

    def join(self, view: Tensor, source: Tensor) -> None:
        """Let a tensor that nothing shares yet be a view of another's bytes."""
        root, size = self.root(source), self._sizes[view]
        self._parents[view] = (source, Runs(0, size, size))
        self._children.setdefault(source, []).append(view)
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

    def members(self, tensor: Tensor) -> Iterator[Tensor]:
        """A tensor and all that lie in it."""
        open_tensors = [tensor]
        while open_tensors:
            member = open_tensors.pop()
            yield member
            open_tensors += self._children.get(member, ())

    def objection(self, part: Part) -> str | None:
        """Why a part cannot lie within its whole."""
        size = self._sizes.get(part.tensor, -1)
        if size < 0 or part.whole not in self._sizes:
            return "one of them is a constant"
        root, runs = self.locate(part.tensor)
        if root in self._regions:
            return f"{part.tensor.name} is an input or output of the model"
        if runs.start or not runs.dense or self._group_sizes[root] != size:
            return f"{part.tensor.name} shares the memory of something larger"
        whole, outer = self.locate(part.whole)
        if root is whole:
            return f"{part.tensor.name} already lies there"
        if self.region(whole)[0] == Region.STATE:
            return f"{part.whole.name} is a variable, which may change before the part is read"
        inside = within(size, part.runs, outer)
        if inside is None or not self._fit(root, inside):
            return f"{part.tensor.name} would be cut along two axes of {whole.name}"
        if inside.start % self._granules[root]:
            return f"{part.tensor.name} would not start at a whole slice"
        if part.runs.start + part.runs.span(size) > self._sizes[part.whole]:
            return f"{part.tensor.name} takes more room than it has there"
        return None

    def _fit(self, root: Tensor, runs: Runs) -> bool:
        """Whether all that lies in a tensor can, once that tensor lies in runs."""
        if runs.dense:
            return True
        members = ((self._sizes[m], self.locate(m)[1]) for m in self.members(root))
        return all(within(size, inner, runs) is not None for size, inner in members)

    def place(self, part: Part) -> None:
        """Put a part to which there is no objection into its whole."""
        root, whole = self.root(part.tensor), self.root(part.whole)
        self._parents[root] = (part.whole, part.runs)
        self._children.setdefault(part.whole, []).append(root)
        self._granules[whole] = max(self._granules[whole], self._granules[root])

    def take_out(self, root: Tensor) -> None:
        """Give a group that was placed memory of its own again."""
        whole, _ = self._parents.pop(root)
        self._children[whole].remove(root)


def within(size: int, inner: Runs, outer: Runs) -> Runs | None:
    """How a tensor of that size, in runs of one that itself lies in runs, lies where that does.

    None where that would take runs of two different pitches.
    """
    if outer.dense:
        return replace(inner, start=outer.start + inner.start)
    number, inside = divmod(inner.start, outer.length)
    start = outer.start + number * outer.pitch + inside
    if inside + inner.span(size) <= outer.length:
        return replace(inner, start=start)
    if inner.dense:
        fits = inside == 0 and size % outer.length == 0
        return Runs(start, outer.length, outer.pitch) if fits else None
    if inside + inner.length > outer.length or inner.pitch % outer.length:
        return None
    return Runs(start, inner.length, inner.pitch // outer.length * outer.pitch)


def variables(graph: Graph) -> list[Tensor]:
    """What keeps its content between runs, in a fixed order; inputs are given anew each time."""
    read = [t for t in graph.tensors if t.variable and t not in graph.inputs]
    return list(dict.fromkeys((*read, *graph.kept.values())))
