"""The finest axes of two shapes of the same entries.

[32,2,9216,2] and [32,2,96,192] both consist of the axes 32, 2, 96, 96 and 2; [6,4] and [4,6] have
no axes in common.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from operator import mul

from ...ir import Shape

Parts = list[list[int]]
"""For each axis of a shape the numbers of the finest axes that it consists of."""


def common_axes(before: Shape, after: Shape) -> tuple[Shape, Parts, Parts] | None:
    """The sizes of the finest axes, without ones, and which of them the axes of each shape are.

    Returns None if there are none, or an axis has size 0.
    """
    if 0 in before:
        return None
    ends = [list(accumulate(shape, mul, initial=1)) for shape in (before, after)]
    cuts = sorted({end for each in ends for end in each})
    if any(end % start for start, end in pairwise(cuts)):
        return None
    sizes = tuple(end // start for start, end in pairwise(cuts))
    place = {end: position for position, end in enumerate(cuts)}
    first, second = (
        [list(range(place[start], place[end])) for start, end in pairwise(each)] for each in ends
    )
    return sizes, first, second
