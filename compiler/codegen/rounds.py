"""Rounds: dispatches that repeat with other arguments, as those of a recurrent layer do.

A persistent kernel writes them once, in a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...runtime.plan.records import Dispatch

MIN_ROUNDS = 8
"""Fewer rounds are written one after another, which is easier to read and to change."""


@dataclass(frozen=True)
class Rounds:
    """Consecutive dispatches that are written once and computed `count` times."""

    first: int
    """The first dispatch of the first round."""
    period: int
    """Dispatches of a round."""
    count: int = 1

    @property
    def end(self) -> int:
        return self.first + self.period * self.count


def rounds(dispatches: Sequence[Dispatch], first: int, longest: int) -> Iterator[Rounds]:
    """Consecutive dispatches, of which `first` is the first: rounds of up to `longest` dispatches,
    and between them what does not repeat."""
    numbers: dict[object, int] = {}
    kinds = [numbers.setdefault(_kind(dispatch), len(numbers)) for dispatch in dispatches]
    index = start = 0
    while index < len(kinds):
        found = _repeated(kinds, index, longest)
        if found is None:
            index += 1
            continue
        if start < index:
            yield Rounds(first + start, index - start)
        yield replace(found, first=first + index)
        index = start = found.end
    if start < index:
        yield Rounds(first + start, index - start)


def packed(found: Iterable[Rounds], longest: int) -> Iterator[list[Rounds]]:
    """Rounds in groups in which up to `longest` dispatches are written."""
    group: list[Rounds] = []
    room = longest
    for left in found:
        while left.period > room:
            if left.count == 1 and room:
                group.append(replace(left, period=room))
                left = Rounds(left.first + room, left.period - room)
            if group:
                yield group
            group, room = [], longest
        group.append(left)
        room -= left.period
    if group:
        yield group


def _kind(dispatch: Dispatch) -> object:
    """What a dispatch has in common with that of the next round."""
    arguments = tuple((each.region, each.index, each.writes) for each in dispatch.arguments)
    return dispatch.kernel, dispatch.grid, arguments


def _repeated(kinds: Sequence[int], first: int, longest: int) -> Rounds | None:
    """The rounds from `first` on that cover most dispatches, the shortest of them."""
    best: Rounds | None = None
    for period in range(1, min(longest, (len(kinds) - first) // MIN_ROUNDS) + 1):
        index = first
        while index + period < len(kinds) and kinds[index] == kinds[index + period]:
            index += 1
        count = (index - first) // period + 1
        if count >= MIN_ROUNDS and (best is None or first + period * count > best.end):
            best = Rounds(first, period, count)
    return best
