"""Runs of elements between gaps, as tensors have them that are parts of others."""

from collections.abc import Sequence
from math import prod


def spread(sizes: Sequence[int], length: int, pitch: int) -> tuple[int, ...] | None:
    """Axis sizes that give the strides of runs of `length` elements that start `pitch` apart.

    None if a run does not end where one of the nested axes does.

    >>> spread((2, 5, 7), 2 * 5 * 7, 6 * 5 * 7), spread((2, 5, 7), 4, 9)
    ((6, 5, 7), None)
    """
    for axis in reversed(range(len(sizes))):
        inner = prod(sizes[axis + 1 :])
        if sizes[axis] * inner == length and pitch % inner == 0:
            return (*sizes[:axis], pitch // inner, *sizes[axis + 1 :])
    return None
