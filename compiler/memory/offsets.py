"""Offsets of intermediate tensors in one arena, such that tensors alive together do not overlap.

Tensors are placed one by one, each in the tightest gap. Three orders are tried: by size and by
breadth (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020), and
by first use. If the smallest arena is still above the lower bound, a local search improves the best
order: it moves a tensor that ends at the top of the arena to an earlier position, and keeps the
change unless the arena grows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

# Most pairs of tensors alive together that the search looks at, over all orders it tries.
SEARCH = 8_000_000

TRIALS = 4_000  # Most orders that the search tries.

# For each tensor, the tensors that are alive at the same time.
Neighbours = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Interval:
    """A tensor's size in bytes and the first and last dispatch that need it, both included."""

    size: int
    first: int
    last: int


@dataclass(frozen=True)
class Layout:
    """The offset of each tensor, and the size of the arena, all in bytes."""

    offsets: tuple[int, ...]
    total: int
    naive: int  # Size of an arena without sharing.
    lower_bound: int  # The most bytes alive during one dispatch; no arena can be smaller.


@dataclass(frozen=True)
class _Attempt:
    """An order of placing tensors, and the resulting layout."""

    order: list[int]
    offsets: list[int]
    total: int


def plan_memory(intervals: Sequence[Interval], alignment: int, share: bool = True) -> Layout:
    """The best layout found; with `share` False no tensors overlap."""
    sizes = [-(-interval.size // alignment) * alignment for interval in intervals]
    naive = sum(sizes)
    live = live_bytes(intervals, sizes)
    lower_bound = max(live, default=0)
    if not share:
        starts = tuple(accumulate(sizes, initial=0))
        return Layout(starts[:-1], naive, naive, lower_bound)
    together = _neighbours(intervals)
    best: _Attempt | None = None
    for order in _orders(intervals, sizes, live):
        attempt = _place(sizes, together, order)
        if best is None or attempt.total < best.total:
            best = attempt
        if best.total == lower_bound:
            break
    assert best is not None
    best = _search(sizes, together, best, lower_bound)
    return Layout(tuple(best.offsets), best.total, naive, lower_bound)


def live_bytes(intervals: Sequence[Interval], sizes: Sequence[int]) -> list[int]:
    """Bytes alive during each dispatch."""
    change: dict[int, int] = {}
    for interval, size in zip(intervals, sizes, strict=True):
        change[interval.first] = change.get(interval.first, 0) + size
        change[interval.last + 1] = change.get(interval.last + 1, 0) - size
    live, total = [0] * (max(change, default=0) + 1), 0
    for step in range(len(live)):
        total += change.get(step, 0)
        live[step] = total
    return live


def _neighbours(intervals: Sequence[Interval]) -> Neighbours:
    """The `Neighbours` of intervals, in one sweep over time."""
    together: list[list[int]] = [[] for _ in intervals]
    alive: list[int] = []
    for i in sorted(range(len(intervals)), key=lambda i: intervals[i].first):
        alive = [j for j in alive if intervals[j].last >= intervals[i].first]
        for j in alive:
            together[i].append(j)
            together[j].append(i)
        alive.append(i)
    return together


def _orders(
    intervals: Sequence[Interval], sizes: Sequence[int], live: Sequence[int]
) -> Iterator[list[int]]:
    """By size; by the most bytes alive during a tensor's lifetime, its breadth; by first use."""
    everything = range(len(intervals))
    yield sorted(everything, key=lambda i: (-sizes[i], intervals[i].first))
    breadth = [max(live[intervals[i].first : intervals[i].last + 1], default=0) for i in everything]
    yield sorted(everything, key=lambda i: (-breadth[i], -sizes[i], intervals[i].first))
    yield sorted(everything, key=lambda i: (intervals[i].first, -sizes[i]))


def _place(sizes: Sequence[int], together: Neighbours, order: list[int]) -> _Attempt:
    """Place each tensor in the tightest gap between its placed neighbours, or above them all."""
    offsets = [-1] * len(order)
    total = 0
    for i in order:
        taken = sorted((offsets[j], sizes[j]) for j in together[i] if offsets[j] >= 0)
        # `taken` may overlap, since neighbours of i need not be neighbours of each other: a gap
        # starts where everything below it has ended.
        size, reached = sizes[i], 0
        best, tightest = -1, -1
        for start, length in taken:
            gap = start - reached
            if gap >= size and (tightest < 0 or gap < tightest):
                best, tightest = reached, gap
            reached = max(reached, start + length)
        offsets[i] = best if tightest >= 0 else reached
        total = max(total, offsets[i] + size)
    return _Attempt(order, offsets, total)


def _search(
    sizes: Sequence[int], together: Neighbours, best: _Attempt, lower_bound: int
) -> _Attempt:
    """Randomly place a tensor at the top earlier, and keep changes that do not grow the arena."""
    random = Random(len(sizes))  # seeded, so that a model always compiles to the same plan
    trials = min(TRIALS, SEARCH // max(sum(map(len, together)), 1))
    current = best
    for _ in range(trials):
        if best.total == lower_bound:
            break
        # Only what ends at the top determines the arena's size. Moving any other tensor now and
        # then gets the search out of local minima.
        top = [i for i in current.order if current.offsets[i] + sizes[i] == current.total]
        moved = random.choice([*top, random.choice(current.order)])
        order = [i for i in current.order if i != moved]
        order.insert(random.randint(0, current.order.index(moved)), moved)
        attempt = _place(sizes, together, order)
        if attempt.total <= current.total:
            current = attempt
        if attempt.total < best.total:
            best = attempt
    return best
