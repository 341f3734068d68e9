"""Stretches: the consecutive dispatches that become one persistent kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from math import prod

from .generate import Kernels

MAX_ITEMS = 1 << 30
"""Most work-items of a dispatch; their counter runs past this number without overflow."""
WORTH = 0.7
"""A stretch is divided if each part has at most this share of its kernels."""


def stretches(kernels: Kernels, most: int) -> Iterator[tuple[int, int]]:
    """The first dispatch of each stretch, and the one after its last.

    A stretch has two dispatches or more. Drivers compile a persistent kernel in one piece, which
    takes longer than in proportion to the kernels that it computes: one of more than `most` is
    divided. Not so where both parts would need most of its kernels, as with layers that repeat.
    """
    launches = kernels.launches
    stops = frozenset(kernels.host_steps.values())
    first = 0
    for index in range(len(launches) + 1):
        rendered = launches[index].rendered if index < len(launches) else None
        ends = rendered is None or not rendered.source.divisible or prod(rendered.grid) > MAX_ITEMS
        if ends or index in stops:
            numbers = [launch.kernel for launch in launches[first:index]]
            for start, end in divided(numbers, most):
                if end - start > 1:
                    yield first + start, first + end
            first = index + ends


def divided(kernels: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Where the parts of a stretch, given as the kernel of each dispatch, start and end.

    >>> list(divided([0, 1, 0, 1, 2, 3, 2, 3], most=2))
    [(0, 4), (4, 8)]
    >>> list(divided([0, 1, 2, 3, 0, 1, 2, 3], most=2))
    [(0, 8)]
    """
    before, after = _different(kernels), _different(kernels[::-1])[::-1]
    larger, cut = min(
        ((max(before[cut - 1], after[cut]), cut) for cut in range(1, len(kernels))),
        default=(0, 0),
    )
    if not kernels or before[-1] <= most or larger > WORTH * before[-1]:
        yield 0, len(kernels)
        return
    yield from divided(kernels[:cut], most)
    for start, end in divided(kernels[cut:], most):
        yield start + cut, end + cut


def _different(kernels: Iterable[int]) -> list[int]:
    """How many kernels are different up to each place."""
    seen: set[int] = set()
    return list(accumulate(_added(seen, kernel) for kernel in kernels))


def _added(seen: set[int], kernel: int) -> int:
    new = kernel not in seen
    seen.add(kernel)
    return int(new)
