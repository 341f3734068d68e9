"""Index arithmetic: integer expressions as text, valid in all kernel languages.

Zero terms, unit factors and constant subexpressions are simplified away, so that kernels stay
readable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

_NUMBER = re.compile(r"-?\d+")
_BRACKETS = re.compile(r"\([^()]*\)|\[[^][]*\]")


def number(text: str) -> int | None:
    """The value of an expression that is a literal number; None for any other."""
    return int(text) if _NUMBER.fullmatch(text) else None


def horner(*terms: tuple[str, int]) -> str:
    """The flat index of (coordinate, size) pairs of nested axes, outermost first.

    >>> horner(("b", 1), ("y", 5), ("x + 1", 7))
    'y * 7 + x + 1'
    >>> horner(("2", 4), ("p", 4)), horner(("2", 4), ("1", 4))
    ('p + 8', '9')
    """
    text, constant = "0", 0
    for coordinate, size in terms:
        if size == 1:
            continue
        text, constant = affine(text, size), constant * size
        if number(coordinate) is not None:
            constant += int(coordinate)
        else:
            text = coordinate if text == "0" else f"{text} + {coordinate}"
    return affine(text, 1, constant)


def affine(coordinate: str, step: int = 1, start: int | str = 0) -> str:
    """The text of step * coordinate + start, simplified.

    >>> affine("gx", 2, -1), affine("gx + p"), affine("ky", -1, 4), affine("gs", 1, "n")
    ('gx * 2 - 1', 'gx + p', '-ky + 4', 'gs + n')
    >>> affine("3", 4, 2), affine("3", 4, "n"), affine("0", 4, "n"), affine("row", 1, "-up")
    ('14', 'n + 12', 'n', 'row - up')
    """
    if isinstance(start, str):
        if number(start) is None:
            text = affine(coordinate, step)
            if number(text) is not None:
                return affine(start, 1, int(text))
            return f"{text} - {start[1:]}" if start.startswith("-") else f"{text} + {start}"
        start = int(start)
    if step == 0:
        return str(start)
    if number(coordinate) is not None:
        return str(int(coordinate) * step + start)
    factor = coordinate if coordinate.isidentifier() or step == 1 else _factor(coordinate)
    text = factor if step == 1 else f"-{factor}" if step == -1 else f"{factor} * {step}"
    if not start:
        return text
    return f"{text} + {start}" if start > 0 else f"{text} - {-start}"


def quotient(text: str, divisor: int) -> str:
    """The text of an integer division; neither operand may be negative.

    >>> quotient("gx + 3", 4), quotient("index / 3", 5), quotient("gx", 1), quotient("7", 2)
    ('(gx + 3) / 4', 'index / 3 / 5', 'gx', '3')
    """
    if divisor == 1:
        return text
    value = number(text)
    return f"{_factor(text)} / {divisor}" if value is None else str(value // divisor)


def remainder(text: str, divisor: int) -> str:
    """The text of the remainder of such a division."""
    value = 0 if divisor == 1 else number(text)
    return f"{_factor(text)} % {divisor}" if value is None else str(value % divisor)


def _factor(text: str) -> str:
    """An expression as a factor: in parentheses unless it is a product or quotient."""
    outside = text
    while outside != (outside := _BRACKETS.sub("", outside)):
        pass
    operators = set(re.findall(r" (\S+) ", outside))
    return text if operators <= {"*", "/", "%"} and not text.startswith("-") else f"({text})"


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
