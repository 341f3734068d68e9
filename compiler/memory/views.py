"""Which tensors share memory: views of the same bytes, and parts that lie within a whole.

    y = RESHAPE(x)                y is x
    y = CONCATENATION(a, b)       a and b are written where y has them; nothing is copied
    a, b = SPLIT(x)               a and b are read where x has them

A part that is cut out of the middle of its whole lies there in runs with gaps between them, such as
the channels of `a` in each picture of a batch of `y`. Kernels then step over the gaps.

Parts go into their whole, those of the largest copies first, only if that does not raise the peak
of live bytes: the memory of a whole is taken from the moment its first part is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...runtime.plan.records import Region
from ..codegen.binding import Binding
from ..devices import Profile
from ..errors import RenderError
from ..events import Event, describe
from ..ir import Graph, Tensor
from ..ops.base import Launch, Part
from ..ops.litert_part import LITERT
from .aliases import Sharing
from .lifetimes import Step, lifetimes, touched

RULE = "share_memory"

SWEEPS = 2
"""How often parts are tried: where one went into its whole, there may be room for another."""

Place = tuple[int, int]
"""A launch: the number of its step, and its number there."""


@dataclass(frozen=True)
class Placed:
    """What is left to launch once parts lie in their wholes."""

    plan: list[Step]
    events: tuple[Event, ...]
    peak: int
    """The most bytes alive at once."""

    @property
    def launches(self) -> int:
        return sum(len(step.launches) for step in self.plan)


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


def place_parts(
    graph: Graph,
    plan: Sequence[Step],
    sharing: Sharing,
    profile: Profile,
    gaps: bool = True,
    limited: bool = True,
) -> Placed:
    """Put parts into the wholes they are copied from or to, which saves the copies.

    With `gaps` False each tensor keeps all its bytes behind each other; with `limited` False the
    peak may rise.
    """
    placing = _Placing(graph, plan, sharing, profile, gaps, limited)
    copies = {n: found for n, step in enumerate(plan) if (found := _copies(step))}
    order = sorted(copies, key=lambda position: -sum(map(_elements, copies[position].values())))
    for _ in range(SWEEPS):
        for position in order:
            parts = {
                (position, number): part
                for number, part in copies[position].items()
                if isinstance(part, Part) and (position, number) not in placing.saved
            }
            if not placing.put(parts) and len(parts) > 1:
                for place, part in parts.items():
                    placing.put({place: part})
    events = []
    for position, found in copies.items():
        op = plan[position].op
        told = {
            number: part if isinstance(part, str) else placing.reasons[position, number]
            for number, part in found.items()
            if (position, number) not in placing.saved
        }
        events.append(Event(RULE, (describe(op),), _reason(told, len(found))))
    return Placed(_without(plan, placing.saved), tuple(events), placing.peak)


def _reason(told: Mapping[int, str], count: int) -> str | None:
    """Why some of an operator's parts are copied; None if none is."""
    if not told:
        return None
    verb = "is" if len(told) == 1 else "are"
    some = f"{len(told)} of {count} parts {verb} copied: " if len(told) < count else ""
    return some + "; ".join(dict.fromkeys(told.values()))


def _copies(step: Step) -> dict[int, Part | str]:
    """By the number of each launch that only copies a part: the part, or why it is none."""
    found = {n: launch.part for n, launch in enumerate(step.launches) if launch.part is not None}
    if step.op.post:
        return dict.fromkeys(found, f"it computes {step.op.post[0].name}, too")
    if step.kernel.reads != step.kernel.writes:
        return dict.fromkeys(found, "it changes the storage, too")
    return found


def _elements(part: Part | str) -> int:
    return part.tensor.elements if isinstance(part, Part) else 0


def _without(plan: Sequence[Step], saved: set[Place]) -> list[Step]:
    """The launches that are still needed."""
    left = []
    for position, step in enumerate(plan):
        numbered = enumerate(step.launches)
        kept = tuple(launch for number, launch in numbered if (position, number) not in saved)
        left.append(replace(step, launches=kept))
    return left


class _Placing:
    """Parts put into wholes so far, and the bytes of the arena alive during each dispatch."""

    def __init__(
        self,
        graph: Graph,
        plan: Sequence[Step],
        sharing: Sharing,
        profile: Profile,
        gaps: bool,
        limited: bool,
    ) -> None:
        self.saved: set[Place] = set()
        """Copies that need not be launched."""
        self.reasons: dict[Place, str] = {}
        """Why the others must be."""
        self._sharing, self._profile, self._gaps = sharing, profile, gaps
        self._users: dict[Tensor, list[tuple[Step, Launch]]] = {}
        for step in plan:
            for launch in step.launches:
                for tensor in dict.fromkeys(touched(step, launch)):
                    self._users.setdefault(tensor, []).append((step, launch))
        self._spans = lifetimes(graph, plan, sharing)
        last = max((span[1] for span in self._spans.values()), default=0)
        self._live = np.zeros(last + 1, np.int64)
        for root in self._spans:
            self._count(root, 1)
        self._limit = self.peak if limited else None

    @property
    def peak(self) -> int:
        """The most bytes alive at once."""
        return int(self._live.max())

    def put(self, parts: Mapping[Place, Part]) -> bool:
        """Put parts into wholes, if all of those that can be together do not raise the peak."""
        done: list[tuple[Place, Tensor, Tensor, tuple[int, int]]] = []
        peak = 0
        for place, part in parts.items():
            root = self._sharing.root(part.tensor)
            objection = self._sharing.objection(part) or self._place(part, root)
            if objection:
                self.reasons[place] = objection
                continue
            whole = self._sharing.root(root)
            done.append((place, root, whole, self._spans[whole]))
            peak = max(peak, self._join(root, whole))
        self.saved.update(place for place, *_ in done)
        if self._limit is None or peak <= self._limit:
            return True
        more = peak - self._limit
        for place, root, whole, span in reversed(done):
            self._separate(root, whole, span)
            self.saved.remove(place)
            self.reasons[place] = f"the peak of live memory would rise by {more} bytes"
        return False

    def _join(self, root: Tensor, whole: Tensor) -> int:
        """Let a whole live as long as a part does, too; returns the most bytes alive then."""
        (first, last), (other_first, other_last) = self._spans[root], self._spans[whole]
        self._alive(root)[:] -= self._sharing.size(root)
        self._count(whole, -1)
        self._spans[whole] = min(first, other_first), max(last, other_last)
        self._count(whole, 1)
        return int(self._alive(whole).max(initial=0))

    def _separate(self, root: Tensor, whole: Tensor, span: tuple[int, int]) -> None:
        """Undo what was done last; `span` is that of the whole without the part."""
        self._count(whole, -1)
        self._spans[whole] = span
        self._count(whole, 1)
        self._sharing.take_out(root)
        self._count(root, 1)

    def _count(self, root: Tensor, sign: int) -> None:
        if self._sharing.region(root)[0] == Region.ARENA:
            self._alive(root)[:] += sign * self._sharing.size(root)

    def _alive(self, root: Tensor) -> NDArray[np.int64]:
        first, last = self._spans[root]
        return self._live[max(first, 0) : last + 1]

    def _place(self, part: Part, root: Tensor) -> str | None:
        """Put one part into its whole, or say why what touches it cannot step over the gaps."""
        self._sharing.place(part)
        objection = self._gap_in_the_way(root)
        if objection:
            self._sharing.take_out(root)
        return objection

    def _gap_in_the_way(self, root: Tensor) -> str | None:
        _, runs = self._sharing.locate(root)
        if runs.dense:
            return None
        if not self._gaps:
            return f"{root.name} is to be readable after the run"
        for member in self._sharing.members(root):
            _, runs = self._sharing.locate(member)
            for step, launch in self._users.get(member, ()) if not runs.dense else ():
                if step.op.name == LITERT:
                    return f"LiteRT takes {member.name} without gaps"
                try:
                    Binding(launch, step.kernel, self._profile, {member: runs}).bind(step.op)
                except RenderError as error:
                    return str(error)
        return None
