"""A reshape behind a transpose, done in front of it: what both are in the other order.

    t = TRANSPOSE(x[1,5,7,3]) perm=(0,3,1,2)   y = RESHAPE(t) new_shape=(1,3,35)
    is   r = RESHAPE(x) new_shape=(1,35,3)   y = TRANSPOSE(r) perm=(0,2,1)

That is so where axes that a reshape merges are neighbours in the same order in front of the
transpose, too. Axes of size 1 can lie anywhere; those of the result stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...ir import Shape

Block = tuple[list[int], list[int]]
"""Axes before and after a reshape that hold the same entries."""


def reshape_first(source: Shape, order: Sequence[int], result: Shape) -> tuple[Shape, Shape] | None:
    """The shape to reshape `source` to, and the order that then gives `result`; None if none does.

    `source` is the shape in front of a transpose to `order`, `result` that behind the reshape.
    """
    middle = tuple(source[axis] for axis in order)
    if 0 in middle or prod(middle) == 1:
        return None
    several = [axis for axis, size in enumerate(source) if size > 1]
    moved = []
    for before, after in _blocks(middle, result):
        places = [several.index(order[axis]) for axis in before]
        if places != list(range(places[0], places[0] + len(places))):
            return None
        moved.append((places[0], after))
    others = (axis for _, after in sorted(moved) for axis in after)
    axes = [axis if size == 1 else next(others) for axis, size in enumerate(result)]
    back = tuple(axes.index(axis) for axis in range(len(result)))
    return tuple(result[axis] for axis in axes), back


def _blocks(before: Shape, after: Shape) -> list[Block]:
    """The smallest blocks of axes that a reshape leaves in place, in order, without ones."""
    waiting = [axis for axis, size in enumerate(before) if size > 1]
    blocks: list[Block] = []
    taken = given = 1
    for axis, size in enumerate(after):
        if size == 1:
            continue
        if taken == given:
            blocks.append(([], []))
        blocks[-1][1].append(axis)
        given *= size
        while taken < given:
            blocks[-1][0].append(waiting.pop(0))
            taken *= before[blocks[-1][0][-1]]
    return blocks
