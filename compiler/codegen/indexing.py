"""Index arithmetic: texts of integer expressions that are the same in both kernel languages."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod


def horner(*terms: tuple[str, int]) -> str:
    """The index of coordinates in nested axes, outermost first: pairs of (coordinate, size).

    >>> horner(("b", 1), ("y", 5), ("x + 1", 7))
    'y * 7 + x + 1'
    """
    text = "0"
    for coordinate, size in terms:
        if size == 1:
            continue
        if text == "0":
            text = coordinate
            continue
        factor = f"({text})" if " + " in text or " - " in text or " / " in text else text
        text = f"{factor} * {size}" + ("" if coordinate == "0" else f" + {coordinate}")
    return text


def affine(coordinate: str, step: int = 1, start: int = 0) -> str:
    """The text of start + step * coordinate, without what changes nothing.

    >>> affine("gx", 2, -1), affine("gx + p"), affine("ky", -1, 4)
    ('gx * 2 - 1', 'gx + p', '-ky + 4')
    """
    if step == 0:
        return str(start)
    factor = coordinate if coordinate.isidentifier() else f"({coordinate})"
    text = coordinate if step == 1 else f"-{factor}" if step == -1 else f"{factor} * {step}"
    if not start:
        return text
    return f"{text} + {start}" if start > 0 else f"{text} - {-start}"


def spread(sizes: Sequence[int], length: int, pitch: int) -> tuple[int, ...] | None:
    """Sizes from which strides follow where runs of that many elements start a pitch apart.

    None if a run does not end where one of the nested axes does.

    >>> spread((2, 5, 7), 2 * 5 * 7, 6 * 5 * 7), spread((2, 5, 7), 4, 9)
    ((6, 5, 7), None)
    """
    for axis in reversed(range(len(sizes))):
        inner = prod(sizes[axis + 1 :])
        if sizes[axis] * inner == length and pitch % inner == 0:
            return (*sizes[:axis], pitch // inner, *sizes[axis + 1 :])
    return None
