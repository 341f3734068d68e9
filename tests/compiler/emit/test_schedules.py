"""Where a launch has to wait for those before it, on dispatches written by hand."""

from collections.abc import Sequence

import pytest

from tflgpu.compiler.emit.facts import barriers
from tflgpu.runtime.plan.records import Argument, Region


def span(offset: int, size: int, writes: bool = False, region: Region = Region.ARENA) -> Argument:
    return Argument(region, 0, offset, size, writes)


def written(offset: int, size: int, region: Region = Region.ARENA) -> Argument:
    return span(offset, size, True, region)


BARRIERS: dict[str, tuple[Sequence[Sequence[Argument]], list[bool]]] = {
    "none before the first": ([[written(0, 8)]], [False]),
    "read after write": ([[written(0, 8)], [span(0, 8), written(8, 8)]], [False, True]),
    "write after read": ([[span(0, 8), written(8, 8)], [written(0, 8)]], [False, True]),
    "write after write": ([[written(0, 8)], [written(4, 8)]], [False, True]),
    "read after read": ([[span(0, 8)], [span(0, 8)]], [False, False]),
    "neighbours": ([[written(0, 8)], [written(8, 8)], [span(16, 8)]], [False, False, False]),
    "one byte in common": ([[written(0, 9)], [span(8, 8)]], [False, True]),
    "a range within another": ([[written(0, 64)], [span(16, 4)]], [False, True]),
    "nothing clashes with nothing": ([[written(0, 8)], [span(4, 0)]], [False, False]),
    "regions do not overlap": (
        [[written(0, 8)], [span(0, 8, region=Region.WEIGHTS), written(0, 8, Region.OUTPUT)]],
        [False, False],
    ),
    "outputs do": (
        [[written(0, 8, Region.OUTPUT)], [span(0, 8, region=Region.OUTPUT)]],
        [False, True],
    ),
    "a barrier settles all before it": (
        [[written(0, 8)], [written(8, 8)], [span(0, 8), written(16, 8)], [span(8, 8)]],
        [False, False, True, False],
    ),
    "what it precedes counts again": (
        [[written(0, 8)], [span(0, 8), written(8, 8)], [span(8, 8), written(16, 8)]],
        [False, True, True],
    ),
    "far back": (
        [[written(0, 8)], [written(8, 8)], [written(16, 8)], [written(24, 8)], [span(4, 1)]],
        [False, False, False, False, True],
    ),
}


@pytest.mark.parametrize("case", BARRIERS)
def test_a_barrier_stands_where_memory_is_used_again(case: str) -> None:
    lists, expected = BARRIERS[case]
    assert barriers(lists) == expected


def test_outputs_are_told_apart() -> None:
    first, second = (Argument(Region.OUTPUT, index, 0, 8, True) for index in (0, 1))
    assert barriers([(first,), (second,), (first,)]) == [False, False, True]
