"""Swapping a transpose with the reshape after it.

    t = TRANSPOSE(x[1,5,7,3]) perm=(0,3,1,2)   y = RESHAPE(t) new_shape=(1,3,35)
    is   r = RESHAPE(x) new_shape=(1,35,3)   y = TRANSPOSE(r) perm=(0,2,1)

It is possible if the axes that the reshape merges are also adjacent, in the same order, before the
transpose. Axes of size 1 may be anywhere; those of the result stay in place.
"""

from collections.abc import Sequence
from math import prod

from ...ir import Shape

Block = tuple[list[int], list[int]]  # Axes before and after a reshape that span the same entries.


def reshape_first(source: Shape, order: Sequence[int], result: Shape) -> tuple[Shape, Shape] | None:
    """The shape to reshape `source` to, and the permutation that then gives `result`.

    `source` is the shape before a transpose by `order`, `result` the shape after the reshape.
    Returns None if the two cannot be swapped.
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
    """The smallest blocks of axes that a reshape maps to each other, in order, without ones."""
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
