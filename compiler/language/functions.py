"""Functions of expressions, simplified where operands are known."""

from collections.abc import Callable, Sequence
from math import prod

from .expression import FALSE, TRUE, Expression, Number, Operand, alike, common_type, expression
from .primary import Call, Choice, Member
from .types import LANE


def minimum(a: Operand, b: Operand) -> Expression:
    return _extreme("min", min, expression(a), expression(b))


def maximum(a: Operand, b: Operand) -> Expression:
    return _extreme("max", max, expression(a), expression(b))


def _extreme(
    name: str, function: Callable[[int, int], int], a: Expression, b: Expression
) -> Expression:
    if a.value is not None and b.value is not None:
        return Number(function(a.value, b.value))
    return Call(name, *alike(a, b), type=common_type(a, b))


def clamp(value: Operand, low: Operand, high: Operand) -> Expression:
    known, least, most = alike(*map(expression, (value, low, high)))
    if None not in (known.value, least.value, most.value):
        return minimum(maximum(known, least), most)
    if least == most and known.type not in LANE:  # a number is no vector
        return least
    return Call("clamp", known, least, most, type=known.type)


def select(condition: Expression, chosen: Operand, other: Operand) -> Expression:
    if condition in (TRUE, FALSE):
        return expression(chosen if condition == TRUE else other)
    return Choice(condition, expression(chosen), expression(other))


def horner(*terms: tuple[Operand, int]) -> Expression:
    """The flat index of (coordinate, size) pairs of nested axes, outermost first.

    >>> b, y, x = Name("b"), Name("y"), Name("x")
    >>> horner((b, 1), (y, 5), (x + 1, 7)), horner((2, 4), (x, 4)), horner((2, 4), (1, 4))
    (y * 7 + x + 1, x + 8, 9)
    """
    index: Expression = Number(0)
    constant = 0
    for coordinate, size in terms:
        if size != 1:
            own = expression(coordinate)
            index, constant = index * size, constant * size
            if own.value is None:
                index = index + own
            else:
                constant += own.value
    return index + constant


def coordinate(index: Operand, axis: int, shape: Sequence[int]) -> Expression:
    """Where a flat index into a shape lies along an axis; the index must be within the shape.

    >>> index = Name("index")
    >>> [coordinate(index, axis, (2, 5, 7)) for axis in range(3)], coordinate(index, 1, (1, 5))
    ([index / 35, index / 7 % 5, index % 7], index)
    """
    place = expression(index) // prod(shape[axis + 1 :])
    size = shape[axis]
    return place % size if size == 1 or prod(shape[:axis]) > 1 else place


def part(vector: Expression, first: int, count: int, lanes: int) -> Expression:
    """Some of the lanes of a vector, as a vector if they are several."""
    if count == 1 and vector.single is not None:
        return vector.single
    names = f"s{'0123456789abcdef'[first : first + count]}"
    if lanes == 4:
        names = "xyzw"[first : first + count]
    return Member(vector, names, vector.type if count > 1 else LANE.get(vector.type, vector.type))


def lane(vector: Expression, number: int, lanes: int) -> Expression:
    return part(vector, number, 1, lanes)


def every(*conditions: Expression) -> Expression:
    together: Expression = TRUE
    for condition in conditions:
        together = together & condition
    return together
