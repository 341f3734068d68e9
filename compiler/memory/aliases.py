"""Aliases: groups of tensors that share memory, and each one's layout within its group."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ...runtime.plan.records import Region
from ..ir import Graph, Tensor
from ..ir.connected import reached
from ..ops.base.view import StridedLayout, View
from ..ops.litert_part import host_only
from ..sizing.sizes import SizedOp


class Aliases:
    """Which tensors share memory: each lies in its base, or has its own and is its group's root."""

    def __init__(
        self, graph: Graph, sizes: Mapping[Tensor, int], granules: Mapping[Tensor, int]
    ) -> None:
        """`sizes` are in bytes; a tensor must start at a multiple of its entry in `granules`."""
        self._graph = graph
        self._sizes = sizes
        # Bytes that the start of each group must be a multiple of, for all its members.
        self._granules = dict(granules)
        # The base of each tensor without memory of its own, and its layout there.
        self._bases: dict[Tensor, tuple[Tensor, StridedLayout]] = {}
        # The tensors that lie directly within each base.
        self._inside: dict[Tensor, list[Tensor]] = {}
        self._group_sizes = dict(sizes)
        self._regions: dict[Tensor, tuple[Region, int]] = {}

    # -- reading ----------------------------------------------------------------------------

    def root(self, tensor: Tensor) -> Tensor:
        while tensor in self._bases:
            tensor = self._bases[tensor][0]
        return tensor

    def locate(self, tensor: Tensor) -> tuple[Tensor, StridedLayout]:
        """The root of a tensor's group, and the tensor's layout in it."""
        size = self._sizes[tensor]
        layout = StridedLayout(0, size, size)
        while tensor in self._bases:
            tensor, outer = self._bases[tensor]
            inner = within(size, layout, outer)
            assert inner is not None
            layout = inner
        return tensor, layout

    def extent(self, tensor: Tensor) -> tuple[Tensor, int, int]:
        """The root of a tensor's group, and where its bytes begin and end there."""
        root, layout = self.locate(tensor)
        return root, layout.start, layout.start + layout.span(self._sizes[tensor])

    def size(self, root: Tensor) -> int:
        """Bytes of a group, which are those of its largest member."""
        return self._group_sizes[root]

    def region(self, tensor: Tensor) -> tuple[Region, int]:
        """The memory region of a tensor's group, and its index among regions of that kind."""
        return self._regions.get(self.root(tensor), (Region.ARENA, 0))

    def members(self, tensor: Tensor) -> Iterable[Tensor]:
        """A tensor and all tensors within it."""
        return reached([tensor], lambda member: self._inside.get(member, ()))

    # -- results of operators that launch nothing, or update their operand ------------------

    def join(self, tensor: Tensor, source: Tensor) -> None:
        """Let a tensor, which must not share memory yet, have the same bytes as another."""
        root, size = self.root(source), self._sizes[tensor]
        self._bases[tensor] = (source, StridedLayout(0, size, size))
        self._inside.setdefault(source, []).append(tensor)
        self._group_sizes[root] = max(self._group_sizes[root], self._group_sizes[tensor])
        self._granules[root] = max(self._granules[root], self._granules[tensor])

    def settle(self) -> None:
        """Give inputs, outputs and variables regions of their own; the rest lies in the arena."""
        for index, tensor in enumerate(self._graph.inputs):
            self._regions[self.root(tensor)] = (Region.INPUT, index)
        for index, tensor in enumerate(self._graph.outputs):
            self._regions.setdefault(self.root(tensor), (Region.OUTPUT, index))
        for index, tensor in enumerate(variables(self._graph)):
            self._regions[self.root(tensor)] = (Region.STATE, index)
            for written, kept in self._graph.kept.items():
                if kept is tensor:
                    self._regions[self.root(written)] = (Region.STATE, index)

    # -- views that replace copies ----------------------------------------------------------

    def unsupported_reason(self, view: View) -> str | None:
        """Why a tensor cannot be a view of its base; None if it can."""
        size = self._sizes.get(view.tensor, -1)
        if size < 0 or view.base not in self._sizes:
            return f"{view.tensor.name} or {view.base.name} is a constant"
        root, layout = self.locate(view.tensor)
        if root in self._regions:
            return f"{view.tensor.name} is an input, output or variable of the model"
        if layout.start or not layout.contiguous or self._group_sizes[root] != size:
            return f"{view.tensor.name} is already part of a larger tensor"
        base, outer = self.locate(view.base)
        if root is base:
            return f"{view.tensor.name} already shares the memory of {base.name}"
        if self.region(base)[0] == Region.STATE:
            return f"{view.base.name} is a variable, which may change before the view is read"
        inside = within(size, view.layout, outer)
        if inside is None or not self._fits(root, inside):
            return f"{view.tensor.name} would be cut along two axes of {base.name}"
        if inside.start % self._granules[root]:
            return f"{view.tensor.name} would start within a slice or word"
        if view.layout.start + view.layout.span(size) > self._sizes[view.base]:
            return f"{view.tensor.name} would extend past the end of {view.base.name}"
        return None

    def _fits(self, root: Tensor, layout: StridedLayout) -> bool:
        """Whether all members of a group still have a strided layout once its root has this one."""
        if layout.contiguous:
            return True
        members = ((self._sizes[m], self.locate(m)[1]) for m in self.members(root))
        return all(within(size, inner, layout) is not None for size, inner in members)

    def place(self, view: View) -> None:
        """Make a tensor a view of its base; there must be no `unsupported_reason`."""
        root, base = self.root(view.tensor), self.root(view.base)
        self._bases[root] = (view.base, view.layout)
        self._inside.setdefault(view.base, []).append(root)
        self._granules[base] = max(self._granules[base], self._granules[root])

    def take_out(self, root: Tensor) -> None:
        """Undo `place`: give a group memory of its own again."""
        base, _ = self._bases.pop(root)
        self._inside[base].remove(root)


def alias(
    graph: Graph,
    sized: Sequence[SizedOp],
    sizes: Mapping[Tensor, int],
    granules: Mapping[Tensor, int],
) -> Aliases:
    """The aliases before any copy is replaced: what launches nothing, or updates its operand."""
    aliases = Aliases(graph, sizes, granules)
    for item in sized:
        shared = not item.launches or item.implementation.updates
        if shared and item.op.output.elements:
            aliases.join(item.op.output, item.op.operand(0))
    aliases.settle()
    return aliases


def within(size: int, inner: StridedLayout, outer: StridedLayout) -> StridedLayout | None:
    """The composition of two layouts; None if it would need two different pitches.

    A tensor of `size` bytes has the layout `inner` in its base, and the base has `outer`.
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
    """The tensors that keep their content between runs, in a fixed order.

    Without inputs, and without those that only parts on LiteRT touch, which keep them themselves.
    """
    read = [
        tensor
        for tensor in graph.tensors
        if tensor.variable and tensor not in graph.inputs and not host_only(graph, tensor)
    ]
    return list(dict.fromkeys((*read, *graph.kept.values())))
