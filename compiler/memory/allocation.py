"""The allocation: an arena offset or a region for every tensor."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

from ...runtime.plan.records import Argument, Region
from ...runtime.plan.storage import whole_words
from ..ir import Graph, Tensor
from ..ops.base.launch import Launch
from ..ops.base.storage import stored_bytes
from ..ops.base.view import StridedLayout
from ..sizing.sizes import SizedOp
from ..target import Target
from .arrange import Arrangement
from .lifetimes import Spans, lifetimes, touched
from .offsets import Interval, Layout, plan_memory


@dataclass(frozen=True)
class Placement:
    """Where the tensors of a launch lie in its arguments."""

    # The layout of each that is not the whole of its argument.
    layouts: Mapping[Tensor, StridedLayout]
    # The number of the argument of each that is read, where one is bound once for all that it
    # holds.
    numbers: Mapping[Tensor, int]


@dataclass(frozen=True)
class Allocation:
    """Where every tensor of an arrangement lies."""

    arrangement: Arrangement
    spans: Spans
    arena: Layout
    offsets: Mapping[Tensor, int]  # Start of each group in the arena, in bytes, by its root.

    @property
    def graph(self) -> Graph:
        return self.arrangement.sized.selected.graph

    @property
    def target(self) -> Target:
        return self.arrangement.sized.selected.target

    @property
    def storages(self) -> Mapping[Tensor, str]:
        """The storage of each tensor that is not a constant."""
        return self.arrangement.sized.selected.storages

    def lies(self, tensor: Tensor, writes: bool = False) -> Argument:
        """The exact bytes of a tensor, from its first to its last, as an argument."""
        aliases = self.arrangement.aliases
        root, layout = aliases.locate(tensor)
        offset = self.offsets.get(root, 0) + layout.start
        size = stored_bytes(tensor, self.storages[tensor], self.target)
        return Argument(*aliases.region(root), offset, whole_words(layout.span(size)), writes)

    def argument(self, tensors: Sequence[Tensor], writes: bool) -> Argument:
        """The argument for a kernel: all bytes of some tensors, from an aligned offset on."""
        found = [self._argument(tensor, writes) for tensor in tensors]
        offset = min(each.offset for each in found)
        end = max(each.offset + each.size for each in found)
        return replace(found[0], offset=offset, size=end - offset)

    def _argument(self, tensor: Tensor, writes: bool) -> Argument:
        start = self.layouts[tensor].start if tensor in self.layouts else 0
        exact = self.lies(tensor, writes)
        return replace(exact, offset=exact.offset - start, size=exact.size + start)

    def placement(self, sized: SizedOp, launch: Launch) -> Placement:
        """Those of the tensors of a launch.

        Where buffers are bound as ones that are written, none of those that are read may overlap.
        """
        if self.target.language.writes_beside:
            return Placement(self.layouts, {})
        written = (*launch.writes.values(), *sized.op.early_outputs)
        read = {each for each in touched(sized, launch) if not each.constant}.difference(written)
        tensors = sorted(read, key=lambda each: each.name)
        places = {tensor: self._argument(tensor, False) for tensor in tensors}
        layouts: dict[Tensor, StridedLayout] = {}
        numbers: dict[Tensor, int] = {}
        for number, group in enumerate(_overlapping(places)):
            numbers |= dict.fromkeys(group, number)
            for tensor in group if len(group) > 1 else ():
                size = stored_bytes(tensor, self.storages[tensor], self.target)
                layout = self.layouts.get(tensor, StridedLayout(0, size, size))
                before = places[tensor].offset - places[group[0]].offset
                layouts[tensor] = replace(layout, start=layout.start + before)
        return Placement({**self.layouts, **layouts}, numbers)

    @cached_property
    def layouts(self) -> Mapping[Tensor, StridedLayout]:
        """The layout, within its argument, of each tensor that is not the whole argument."""
        found = {}
        for tensor in self.storages:
            layout = self.arrangement.aliases.locate(tensor)[1]
            within = layout.start - self.target.aligned(layout.start)
            if within or not layout.contiguous:
                found[tensor] = replace(layout, start=within)
        return found


def allocate(arrangement: Arrangement, share: bool) -> Allocation:
    """Assign offsets to an arrangement; without `share` no two groups overlap."""
    selected, aliases = arrangement.sized.selected, arrangement.aliases
    spans = lifetimes(selected.graph, arrangement.order, aliases)
    roots = [root for root in spans if aliases.region(root)[0] == Region.ARENA]
    intervals = [Interval(aliases.size(root), *spans[root]) for root in roots]
    arena = plan_memory(intervals, selected.target.device.alignment, share)
    offsets = dict(zip(roots, arena.offsets, strict=True))
    return Allocation(arrangement, spans, arena, offsets)


def _overlapping(places: Mapping[Tensor, Argument]) -> Iterator[list[Tensor]]:
    """The groups of tensors that have bytes in common, each in the order of its places."""
    group: list[Tensor] = []
    region, end = (Region.ARENA, 0), 0
    start = attrgetter("region", "index", "offset")
    for tensor in sorted(places, key=lambda each: start(places[each])):
        place = places[tensor]
        if (place.region, place.index) != region or place.offset >= end:
            if group:
                yield group
            group, region, end = [], (place.region, place.index), 0
        group.append(tensor)
        end = max(end, place.offset + place.size)
    if group:
        yield group
