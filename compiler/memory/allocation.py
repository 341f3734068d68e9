"""The allocation: an arena offset or a region for every tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from ...runtime.plan.records import Argument, Region
from ...runtime.plan.storage import whole_words
from ..ir import Graph, Tensor
from ..ops.base import StridedLayout, stored_bytes
from ..target import Target
from .arrange import Arrangement
from .lifetimes import Spans, lifetimes
from .offsets import Interval, Layout, plan_memory


@dataclass(frozen=True)
class Allocation:
    """Where every tensor of an arrangement lies."""

    arrangement: Arrangement
    storages: Mapping[Tensor, str]
    target: Target
    spans: Spans
    arena: Layout
    offsets: Mapping[Tensor, int]
    """Start of each group in the arena, in bytes, by its root."""

    def lies(self, tensor: Tensor, writes: bool = False) -> Argument:
        """The exact bytes of a tensor, from its first to its last, as an argument."""
        aliases = self.arrangement.aliases
        root, layout = aliases.locate(tensor)
        offset = self.offsets.get(root, 0) + layout.start
        size = stored_bytes(tensor, self.storages[tensor], self.target)
        return Argument(*aliases.region(root), offset, whole_words(layout.span(size)), writes)

    def argument(self, tensor: Tensor, writes: bool) -> Argument:
        """The argument for a kernel: the same bytes, extended down to an aligned offset."""
        start = self.layouts[tensor].start if tensor in self.layouts else 0
        exact = self.lies(tensor, writes)
        return replace(exact, offset=exact.offset - start, size=exact.size + start)

    @cached_property
    def layouts(self) -> Mapping[Tensor, StridedLayout]:
        """The layout, within its argument, of each tensor that is not the whole argument."""
        alignment = self.target.device.alignment
        located = {tensor: self.arrangement.aliases.locate(tensor)[1] for tensor in self.storages}
        return {
            tensor: replace(layout, start=layout.start % alignment)
            for tensor, layout in located.items()
            if layout.start % alignment or not layout.contiguous
        }


def allocate(
    graph: Graph,
    arrangement: Arrangement,
    storages: Mapping[Tensor, str],
    target: Target,
    share: bool = True,
) -> Allocation:
    """Assign offsets to an arrangement; with `share` False no two groups overlap."""
    aliases = arrangement.aliases
    spans = lifetimes(graph, arrangement.order, aliases)
    roots = [root for root in spans if aliases.region(root)[0] == Region.ARENA]
    intervals = [Interval(aliases.size(root), *spans[root]) for root in roots]
    arena = plan_memory(intervals, target.device.alignment, share)
    offsets = dict(zip(roots, arena.offsets, strict=True))
    return Allocation(arrangement, storages, target, spans, arena, offsets)
