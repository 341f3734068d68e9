"""Expressions in WGSL with their types, and how they combine: WGSL converts nothing implicitly."""

from collections.abc import Sequence
from typing import NamedTuple

from ...language.expression import Number, Real, Word
from ...language.notation import (
    AND,
    ATOM,
    BITS,
    COMPARISON,
    EQUALITY,
    INFIX,
    OR,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
)
from ...language.primary import Numeral
from .types import lanes, scalar, vector, wgsl

# How tightly the two sides of an operator must be bound at least. Operators of logic, those of bits
# and shifts mix with no others without parentheses.
_SIDES = {
    **dict.fromkeys((OR, AND), (EQUALITY, EQUALITY)),
    BITS: (UNARY, UNARY),
    **dict.fromkeys((EQUALITY, COMPARISON), (SHIFT, SHIFT)),
    SHIFT: (UNARY, UNARY),
    SUM: (SUM, PRODUCT),
    PRODUCT: (PRODUCT, UNARY),
}

# The largest float, rounded towards zero, as compilers refuse what lies above it.
LARGEST = "3.40282346e+38"


class Value(NamedTuple):
    text: str
    type: str  # As GLSL has it; that of an array has [] after that of its elements.
    level: int = ATOM
    literal: bool = False  # Whether it is a number, which takes the type that it needs.
    sign: str = ""  # The operator, of operators that need no parentheses among themselves.

    def within(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"

    @property
    def argument(self) -> str:
        """The text as an argument before others, where `<` might begin a list of types."""
        return f"({self.text})" if self.level == COMPARISON and "<" in self.text else self.text


def numeral(node: Number | Word | Real | Numeral) -> Value:
    text, type = node.text, node.type
    if node.value == -(2**31):
        return binary("-", unary("-", Value("2147483647", type)), Value("1", type))
    if text.startswith("-"):
        return unary("-", _magnitude(text[1:], type))
    return _magnitude(text, type)


def _magnitude(text: str, type: str) -> Value:
    if type not in ("int", "uint"):
        text = text.removesuffix("f")
        text = LARGEST if float(text) > float(LARGEST) else text
    return Value(text, type, literal=True)


def common(values: Sequence[Value]) -> str:
    """The type of the vectors among values, or else of those that are not literals; "" of none."""
    ranked = sorted(values, key=lambda each: (lanes(each.type), not each.literal))
    return ranked[-1].type if ranked else ""


def filled(value: Value, type: str) -> Value:
    """A value as a vector with it in every lane, if `type` is one."""
    if lanes(type) and not lanes(value.type):
        return Value(f"{wgsl(type)}({value.text})", type)
    return value


def unary(sign: str, operand: Value) -> Value:
    text = operand.within(UNARY)
    text = f"({text})" if text.startswith(sign) else text  # as -- is another operator
    return Value(f"{sign}{text}", operand.type, UNARY, operand.literal)


def binary(sign: str, left: Value, right: Value) -> Value:
    if sign in "+-" and right.literal and right.text.startswith("-"):
        sign, right = "-" if sign == "+" else "+", right._replace(text=right.text[1:])
    if sign in "+-" and right.literal and not float(right.text.rstrip("u")):
        return left  # what macros add or subtract may be nothing
    level, type = INFIX[sign], common((left, right))
    if level == SHIFT:
        type, right = left.type, shift(right, left.type)
    elif level in (BITS, EQUALITY, COMPARISON):
        left, right = filled(left, type), filled(right, type)
    before, after = _SIDES[level]
    first, second = (
        side.text if level in (OR, AND, BITS) and side.sign == sign else side.within(least)
        for side, least in ((left, before), (right, after))
    )
    second = f"({second})" if second.startswith(sign) else second
    result = vector("bool", lanes(type)) if level in (EQUALITY, COMPARISON) else type
    literal = left.literal and right.literal
    return Value(f"{first} {sign} {second}", result, level, literal, sign)


def shift(by: Value, shifted: str) -> Value:
    """By how many bits each lane of a value of the type `shifted` is shifted."""
    type = vector("uint", lanes(shifted))
    if by.text.isdigit():
        by = Value(f"{by.text}u", "uint")
    elif by.type == "int":
        by = Value(f"u32({by.text})", "uint")
    return by if by.type == type else Value(f"{wgsl(type)}({by.text})", type)


def chosen(condition: Value, one: Value, other: Value) -> Value:
    """One of two values; both are computed."""
    type = common((one, other))
    first, second = (filled(each, type).argument for each in (other, one))
    return Value(f"select({first}, {second}, {condition.text})", type)


def constructed(type: str, arguments: Sequence[Value]) -> Value:
    """A value of a type from others; the lanes of a vector are converted one by one."""
    if len(arguments) == 1:
        (only,) = arguments
        if only.type == type and not only.literal:
            return only
    texts = [
        each.text
        if _fits(each, type)
        else f"{wgsl(vector(scalar(type), lanes(each.type)))}({each.text})"
        for each in arguments
    ]
    return Value(f"{wgsl(type)}({', '.join(texts)})", type)


def _fits(part: Value, type: str) -> bool:
    """Whether a value can be a part of one of a type, or all of it, without a conversion."""
    return part.literal or scalar(part.type) == scalar(type) or lanes(part.type) == lanes(type)


def called(function: str, arguments: Sequence[Value], type: str) -> Value:
    """A call of a function; its result has the type."""
    return Value(f"{function}({', '.join(each.argument for each in arguments)})", type)
