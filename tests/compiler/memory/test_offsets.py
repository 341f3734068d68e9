"""Offsets in the arena: tensors alive together lie apart, and the figures tell the truth."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tflgpu.compiler.memory import offsets
from tflgpu.compiler.memory.offsets import Interval, Layout, plan_memory

ALIGNMENT = 64

lifetimes = st.tuples(st.integers(0, 23), st.integers(0, 11), st.integers(0, 4 * 1013)).map(
    lambda drawn: Interval(drawn[2], drawn[0], drawn[0] + drawn[1])
)

interval_lists = st.lists(lifetimes, max_size=29)


def aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def alive_together(a: Interval, b: Interval) -> bool:
    return a.first <= b.last and b.first <= a.last


def overlaps(layout: Layout, intervals: list[Interval], i: int, j: int) -> bool:
    first, second = layout.offsets[i], layout.offsets[j]
    return first < second + intervals[j].size and second < first + intervals[i].size


def most_alive(intervals: list[Interval]) -> int:
    """The lower bound, step by step."""
    steps = range(max((interval.last for interval in intervals), default=0) + 1)
    return max(
        sum(aligned(i.size) for i in intervals if i.first <= step <= i.last) for step in steps
    )


@given(interval_lists)
@settings(max_examples=200, deadline=None)
def test_tensors_alive_together_lie_apart(intervals: list[Interval]) -> None:
    layout = plan_memory(intervals, ALIGNMENT)
    for i, j in combinations(range(len(intervals)), 2):
        if alive_together(intervals[i], intervals[j]):
            assert not overlaps(layout, intervals, i, j), (intervals[i], intervals[j])


@given(interval_lists)
@settings(max_examples=200, deadline=None)
def test_the_figures_are_those_of_the_layout(intervals: list[Interval]) -> None:
    layout = plan_memory(intervals, ALIGNMENT)
    assert all(offset % ALIGNMENT == 0 for offset in layout.offsets)
    ends = [o + aligned(i.size) for o, i in zip(layout.offsets, intervals, strict=True)]
    assert layout.total == max(ends, default=0)
    assert layout.naive == sum(aligned(interval.size) for interval in intervals)
    assert layout.lower_bound == most_alive(intervals)
    assert layout.lower_bound <= layout.total <= layout.naive


@given(interval_lists)
@settings(max_examples=100, deadline=None)
def test_without_sharing_all_tensors_lie_apart(intervals: list[Interval]) -> None:
    layout = plan_memory(intervals, ALIGNMENT, share=False)
    assert layout.total == layout.naive
    for i, j in combinations(range(len(intervals)), 2):
        assert not overlaps(layout, intervals, i, j)


@given(interval_lists)
@settings(max_examples=50, deadline=None)
def test_the_same_intervals_give_the_same_layout(intervals: list[Interval]) -> None:
    assert plan_memory(intervals, ALIGNMENT) == plan_memory(intervals, ALIGNMENT)


def test_the_search_takes_no_longer_where_many_tensors_are_alive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What placing a tensor takes grows with the tensors that are alive with it."""
    looks = 0
    place = offsets._place

    def counted(
        sizes: list[int], together: offsets.Neighbours, order: list[int]
    ) -> offsets._Attempt:
        nonlocal looks
        looks += sum(map(len, together))
        return place(sizes, together, order)

    monkeypatch.setattr(offsets, "_place", counted)
    monkeypatch.setattr(offsets, "SEARCH", 200_000)
    random = Random(3)
    firsts = [random.randrange(50) for _ in range(150)]
    intervals = [Interval(random.randrange(1, 9999), at, at + 25) for at in firsts]
    layout = plan_memory(intervals, ALIGNMENT)
    assert layout.total > layout.lower_bound, "the search never ended early"
    assert 100_000 < looks < 300_000


def test_nothing_takes_no_memory() -> None:
    assert plan_memory([], ALIGNMENT) == Layout((), 0, 0, 0)


def test_a_chain_takes_two_tensors_worth() -> None:
    chain = [Interval(1000, step, step + 1) for step in range(13)]
    layout = plan_memory(chain, ALIGNMENT)
    assert layout.naive == 13 * 1024
    assert layout.total == layout.lower_bound == 2 * 1024


def test_a_small_tensor_goes_into_the_gap_it_fits_best() -> None:
    """The first three leave gaps of 4 and 2 units when the second and fourth are gone."""
    unit = ALIGNMENT
    intervals = [
        Interval(8 * unit, 0, 9),
        Interval(4 * unit, 0, 3),
        Interval(7 * unit, 0, 9),
        Interval(2 * unit, 0, 3),
        Interval(6 * unit, 0, 9),
        Interval(2 * unit, 5, 6),
        Interval(4 * unit, 5, 6),
    ]
    layout = plan_memory(intervals, ALIGNMENT)
    assert layout.total == layout.lower_bound == 27 * unit
