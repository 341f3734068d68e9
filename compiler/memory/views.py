"""Views that replace copies: tensors that lie within the larger tensor they are copied from or to.

    y = CONCATENATION(a, b)       a and b are written directly into y; nothing is copied
    a, b = SPLIT(x)               a and b are read directly from x

A tensor cut out of its base may have gaps, such as the channels of `a` in each image of a batch of
`y`. Kernels then skip the gaps.

A base must stay alive from the moment its first view is written. A view is therefore only placed if
it does not raise the peak of live memory; the largest copies are tried first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.plan.records import Region
from ..accessors import Unreachable, accessor
from ..events import Event, describe
from ..ir import Graph, Tensor
from ..ops.base.launch import Launch
from ..ops.base.storage import SLICED
from ..ops.base.view import StridedLayout, View
from ..ops.elementwise.elementwise import read_in_store
from ..ops.litert_part import LITERT
from ..sizing.sizes import SizedOp
from ..target import Target
from .aliases import Aliases
from .lifetimes import lifetimes, touched

PASS = "place_views"

SWEEPS = 2  # Rounds of placing views; placing one may make room for another.

# A launch that only copies: the position of its operator, and its number among its launches.
Copy = tuple[int, int]


@dataclass(frozen=True)
class Placed:
    """The operators once views have been placed."""

    order: list[SizedOp]  # Without the launches that views replace.
    events: tuple[Event, ...]
    peak: int  # The most bytes alive at once.

    @property
    def launches(self) -> int:
        return sum(len(sized.launches) for sized in self.order)


def place_views(
    graph: Graph,
    order: Sequence[SizedOp],
    aliases: Aliases,
    target: Target,
    gaps: bool = True,
    limited: bool = True,
) -> Placed:
    """Place views in `aliases`, and drop the copies that they replace.

    With `gaps` False every tensor stays contiguous; with `limited` False the peak may rise.
    """
    placing = _Placing(graph, order, aliases, target, gaps, limited)
    copies = {n: found for n, item in enumerate(order) if (found := _copies(item))}
    by_size = sorted(copies, key=lambda position: -sum(map(_elements, copies[position].values())))
    for _ in range(SWEEPS):
        for position in by_size:
            views = {
                (position, number): view
                for number, view in copies[position].items()
                if isinstance(view, View) and (position, number) not in placing.saved
            }
            if not placing.put(views) and len(views) > 1:
                for copy, view in views.items():
                    placing.put({copy: view})
    events = []
    for position, found in copies.items():
        reasons = {
            number: view if isinstance(view, str) else placing.reasons[position, number]
            for number, view in found.items()
            if (position, number) not in placing.saved
        }
        op = order[position].op
        events.append(Event(PASS, (describe(op),), _reason(reasons, len(found))))
    return Placed(_without(order, placing.saved), tuple(events), placing.peak)


def _reason(reasons: Mapping[int, str], count: int) -> str | None:
    """Why some of an operator's parts are still copied; None if none is."""
    if not reasons:
        return None
    verb = "is" if len(reasons) == 1 else "are"
    some = f"{len(reasons)} of {count} parts {verb} copied: " if len(reasons) < count else ""
    return some + "; ".join(dict.fromkeys(reasons.values()))


def _copies(sized: SizedOp) -> dict[int, View | str]:
    """For each launch that only copies: the view that may replace it, or why none does."""
    launches = enumerate(sized.launches)
    found = {number: launch.view for number, launch in launches if launch.view is not None}
    if sized.op.epilogue:
        return dict.fromkeys(found, f"it also computes {sized.op.epilogue[0].name}")
    if sized.implementation.zero_point is not None:
        return dict.fromkeys(found, "it also stores floats as integers")
    if sized.implementation.reads != sized.implementation.writes:
        return dict.fromkeys(found, "it also changes the storage")
    return found


def _elements(view: View | str) -> int:
    return view.tensor.elements if isinstance(view, View) else 0


def _without(order: Sequence[SizedOp], saved: set[Copy]) -> list[SizedOp]:
    """The operators without the launches that views replace."""
    left = []
    for position, sized in enumerate(order):
        numbered = enumerate(sized.launches)
        kept = tuple(launch for number, launch in numbered if (position, number) not in saved)
        left.append(replace(sized, launches=kept))
    return left


class _Placing:
    """The views placed so far, and the arena bytes alive during each dispatch."""

    def __init__(
        self,
        graph: Graph,
        order: Sequence[SizedOp],
        aliases: Aliases,
        target: Target,
        gaps: bool,
        limited: bool,
    ) -> None:
        self.saved: set[Copy] = set()  # Copies that views replace.
        self.reasons: dict[Copy, str] = {}  # Why the other copies remain.
        self._aliases, self._target, self._gaps = aliases, target, gaps
        self._users: dict[Tensor, list[tuple[SizedOp, Launch, Copy]]] = {}
        for position, sized in enumerate(order):
            for number, launch in enumerate(sized.launches):
                for tensor in dict.fromkeys(touched(sized, launch)):
                    user = (sized, launch, (position, number))
                    self._users.setdefault(tensor, []).append(user)
        self._spans = lifetimes(graph, order, aliases)
        last = max((span[1] for span in self._spans.values()), default=0)
        self._live = np.zeros(last + 1, np.int64)
        for root in self._spans:
            self._count(root, 1)
        self._limit = self.peak if limited else None

    @property
    def peak(self) -> int:
        """The most bytes alive at once."""
        return int(self._live.max(initial=0))

    def put(self, views: Mapping[Copy, View]) -> bool:
        """Place the views that are possible; undo them and return False if the peak rises."""
        done: list[tuple[Copy, Tensor, Tensor, tuple[int, int]]] = []
        peak = 0
        for copy, view in views.items():
            root = self._aliases.root(view.tensor)
            reason = self._aliases.unsupported_reason(view) or self._place(copy, view, root)
            if reason:
                self.reasons[copy] = reason
                continue
            base = self._aliases.root(root)
            done.append((copy, root, base, self._spans[base]))
            peak = max(peak, self._join(root, base))
        if self._limit is None or peak <= self._limit:
            return True
        more = peak - self._limit
        for copy, root, base, span in reversed(done):
            self._separate(root, base, span)
            self.saved.remove(copy)
            self.reasons[copy] = f"the peak of live memory would rise by {more} bytes"
        return False

    def _join(self, root: Tensor, base: Tensor) -> int:
        """Extend a base's lifetime by that of its view; returns the most bytes alive during it."""
        (first, last), (base_first, base_last) = self._spans[root], self._spans[base]
        self._alive(root)[:] -= self._aliases.size(root)
        self._count(base, -1)
        self._spans[base] = min(first, base_first), max(last, base_last)
        self._count(base, 1)
        return int(self._alive(base).max(initial=0))

    def _separate(self, root: Tensor, base: Tensor, span: tuple[int, int]) -> None:
        """Undo the last `_join`; `span` is the lifetime of the base without the view."""
        self._count(base, -1)
        self._spans[base] = span
        self._count(base, 1)
        self._aliases.take_out(root)
        self._count(root, 1)

    def _count(self, root: Tensor, sign: int) -> None:
        """Add a group's bytes to its dispatches, or subtract them."""
        if self._aliases.region(root)[0] == Region.ARENA:
            self._alive(root)[:] += sign * self._aliases.size(root)

    def _alive(self, root: Tensor) -> NDArray[np.int64]:
        first, last = self._spans[root]
        return self._live[max(first, 0) : last + 1]

    def _place(self, copy: Copy, view: View, root: Tensor) -> str | None:
        """Place a view instead of a copy, or return why a kernel that touches it cannot."""
        self._aliases.place(view)
        self.saved.add(copy)
        reason = self._gap_in_the_way(root) or self._overlap(root)
        if reason:
            self._aliases.take_out(root)
            self.saved.remove(copy)
        return reason

    def _gap_in_the_way(self, root: Tensor) -> str | None:
        """Why a group cannot have gaps; None if it can, or has none."""
        _, layout = self._aliases.locate(root)
        if layout.contiguous:
            return None
        if not self._gaps:
            return f"{root.name} must be contiguous to be readable after the run"
        for member in self._aliases.members(root):
            _, layout = self._aliases.locate(member)
            for sized, launch, _ in () if layout.contiguous else self._users.get(member, ()):
                if sized.op.name == LITERT:
                    return f"LiteRT needs {member.name} to be contiguous"
                try:
                    _reach(sized, launch, member, layout, self._target)
                except Unreachable as error:
                    return str(error)
        return None

    def _overlap(self, root: Tensor) -> str | None:
        """Why a group must not lie where it does: a kernel would have one place in two arguments.

        Arguments begin at aligned offsets, so that two parts of a base may have bytes in common.
        """
        if self._target.language.writes_beside:
            return None
        for member in self._aliases.members(root):
            for sized, launch, number in self._users.get(member, ()):
                written = {*launch.writes.values(), *sized.op.early_outputs}
                for tensor in touched(sized, launch) if number not in self.saved else ():
                    if tensor.constant or tensor is member or not written & {member, tensor}:
                        continue
                    if self._meet(member, tensor):
                        return f"{sized.op.name} would have {root.name} in two arguments"
        return None

    def _meet(self, one: Tensor, other: Tensor) -> bool:
        """Whether the arguments of two tensors would have bytes in common."""
        (root, start, end), (base, first, last) = map(self._aliases.extent, (one, other))
        begin = self._target.aligned
        return root is base and begin(start) < last and begin(first) < end


def _reach(
    sized: SizedOp, launch: Launch, tensor: Tensor, layout: StridedLayout, target: Target
) -> None:
    """Unreachable if a launch cannot access a tensor with this layout."""
    implementation = sized.implementation
    flat, by_slices = launch.flatten, implementation.operands == SLICED
    if tensor in launch.reads.values():
        accessor("x", tensor, implementation.reads, target, layout, flatten=flat)
    if tensor in read_in_store(sized.op):
        accessor("x", tensor, implementation.operands, target, layout, flatten=flat)
    if tensor in (*launch.writes.values(), *sized.op.early_outputs):
        storage = implementation.writes
        accessor("y", tensor, storage, target, layout, by_slices=by_slices, flatten=flat)
