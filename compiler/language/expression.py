"""Expressions of kernels: typed, built by Python's operators, and simplified as they are built.

    gx * 2 - 1        horner((y, 5), (x, 7))        minimum(column + p, 6) // 4        v * 0.5 + 1.0

Integers are kept as sums of terms, so that zero terms, unit factors and constants that meet go away
and kernels stay readable. Floats, and slices of either, are computed in the order they are written
in, as rounding depends on it. `==` compares expressions themselves; `equals` is the kernel's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Union

from .notation import (
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
    float_text,
)
from .types import BOOL, BOOLS, EXACT, FLOAT, INT, LANE, UINT, UINTS, WHOLE

Operand = Union["Expression", int, float]

# The levels of operators that give truth values.
_TRUTHS = frozenset({OR, AND, EQUALITY, COMPARISON})


class Expression:
    """An expression; `parts` are what it consists of, in the order that its class says."""

    __slots__ = ("_text", "level", "parts", "type", "value", "whole")

    def __init__(
        self, type: str, level: int, parts: tuple[Any, ...], value: int | None = None
    ) -> None:
        self.type, self.level, self.parts = type, level, parts
        self.value = value  # The value of a number; None for any other expression.
        # The same as an integer, if it is a float that was one.
        self.whole: Expression | None = None
        self._text = ""

    @property
    def text(self) -> str:
        if not self._text:
            self._text = self._print()
        return self._text

    def _print(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Expression)
            and type(self) is type(other)
            and self.parts == other.parts
        )

    def __hash__(self) -> int:
        return hash(self.parts)

    def __bool__(self) -> bool:
        raise TypeError(f"whether {self} holds is known only when the kernel runs")

    @property
    def simple(self) -> bool:
        """Whether it is a name or a number, which can be repeated."""
        return isinstance(self, (Name, Number))

    @property
    def negative(self) -> bool:
        """Whether it is a number below 0."""
        return isinstance(self, (Number, Real)) and self.parts[0] < 0

    @property
    def single(self) -> Expression | None:
        """The value of a vector that has it in all lanes; None for anything else."""
        return None

    @property
    def opposite(self) -> Expression | None:
        """What is to be subtracted instead of adding a number below 0, or a product with one."""
        if self.negative:
            return -self
        if isinstance(self, Operation) and self.parts[0] == "*":
            _, left, right = self.parts
            if left.negative:
                return Operation("*", -left, right)
            if right.negative:
                return Operation("*", left, -right)
        return None

    @property
    def first_term(self) -> tuple[Expression, Expression]:
        """The first term of a sum of terms, and the rest; 0 for anything else."""
        terms, constant = _terms(self)
        (first, *rest), *_ = [tuple(terms) or ((Number(0), 1),)]
        return _sum((first,), 0), _sum(tuple(rest), constant)

    @property
    def constant_apart(self) -> tuple[Expression, int]:
        """An integer as what is not known, and the constant that is added to it."""
        terms, constant = _terms(self)
        return _sum(terms, 0), constant

    def within(self, level: int) -> str:
        """The text, in parentheses if it is bound less tightly than a level."""
        return self.text if self.level >= level else f"({self.text})"

    def __add__(self, other: Operand) -> Expression:
        other = expression(other)
        if other.value == 0:
            return self
        if as_written(self, other):
            less = other.opposite
            return Operation("+", self, other) if less is None else Operation("-", self, less)
        if self.value == 0:
            return other
        terms, constant = _terms(self)
        more, further = _terms(other)
        if not more:
            return _sum(terms, constant + further)
        together = dict(terms)
        for term, factor in more:
            together[term] = together.get(term, 0) + factor
        return _joined(together, constant + further)

    def __radd__(self, other: float) -> Expression:
        return expression(other) + self

    def __sub__(self, other: Operand) -> Expression:
        other = expression(other)
        if other.value == 0:
            return self
        if not as_written(self, other):
            return self + other * -1
        return Operation("+", self, -other) if other.negative else Operation("-", self, other)

    def __rsub__(self, other: float) -> Expression:
        return expression(other) - self

    def __neg__(self) -> Expression:
        if isinstance(self, Real):
            return Real(-self.parts[0])
        return Unary("-", self) if as_written(self) else self * -1

    def __truediv__(self, other: Operand) -> Expression:
        return Operation("/", self, expression(other))

    def __rtruediv__(self, other: float) -> Expression:
        return expression(other) / self

    def __lshift__(self, bits: Operand) -> Expression:
        return self if self.value == 0 else Operation("<<", self, expression(bits))

    def __rlshift__(self, number: int) -> Expression:
        return Operation("<<", Number(number), self)

    def __rshift__(self, bits: Operand) -> Expression:
        known = expression(bits)
        if self.value is not None and known.value is not None:
            return Number(self.value >> known.value)
        return Operation(">>", self, known)

    def __mul__(self, other: Operand) -> Expression:
        other = expression(other)
        if as_written(self, other):
            return Operation("*", self, other)
        if other.value is None:
            return other * self if self.value is not None else Operation("*", self, other)
        if other.value == 1:
            return self
        if self.level == SUM and other.value not in (0, -1):
            return Sum(((self, other.value),), 0)
        terms, constant = _terms(self)
        scaled = tuple((term, factor * other.value) for term, factor in terms)
        return _sum(scaled, constant * other.value)

    def __rmul__(self, other: float) -> Expression:
        known = expression(other)
        return known * self if as_written(self, known) else self * known

    def __floordiv__(self, other: Operand) -> Expression:
        """The quotient, which is rounded towards zero."""
        other = expression(other)
        if other.value is None or as_written(self):
            return Operation("/", self, other)
        terms, constant = _terms(self)
        factors = [factor for _, factor in terms]
        if not any(number % other.value for number in (*factors, constant)):
            exact = tuple((term, factor // other.value) for term, factor in terms)
            return _sum(exact, constant // other.value)
        if self.value is not None:
            quotient = abs(self.value) // abs(other.value)
            return Number(quotient if self.value * other.value >= 0 else -quotient)
        if isinstance(self, Operation) and self.parts[0] == "/" and self.parts[2].value:
            return Operation("/", self.parts[1], other * self.parts[2])
        return Operation("/", self, other)

    def __mod__(self, other: Operand) -> Expression:
        """The remainder of such a division, of numbers that are not negative."""
        other = expression(other)
        if other.value is not None and self.value is not None:
            return Number(self.value % other.value)
        if isinstance(self, Operation) and self.parts[0] == "%":
            dividend, divisor = self.operands
            if divisor.value and other.value and divisor.value % other.value == 0:
                return dividend % other
        if other.value and not as_written(self):
            terms, constant = _terms(self)
            if not any(factor % other.value for _, factor in terms):
                return Number(constant % other.value)
        return Operation("%", self, other)

    def __lt__(self, other: Operand) -> Expression:
        return _compared("<", self, other)

    def __le__(self, other: Operand) -> Expression:
        return _compared("<=", self, other)

    def __gt__(self, other: Operand) -> Expression:
        return _compared(">", self, other)

    def __ge__(self, other: Operand) -> Expression:
        return _compared(">=", self, other)

    def equals(self, other: Operand) -> Expression:
        """The comparison of the values, not of the expressions."""
        return _compared("==", self, other)

    def differs(self, other: Operand) -> Expression:
        """Its opposite."""
        return _compared("!=", self, other)

    def count(self, name: Expression) -> int:
        """How often an expression is part of this one."""
        if self == name:
            return 1
        return sum(part.count(name) for part in self.operands)

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The expressions that it consists of."""
        return tuple(part for part in self.parts if isinstance(part, Expression))

    def __and__(self, other: Operand) -> Expression:
        """Whether both hold, of truth values; of integers, by bits, as the two below."""
        known = expression(other)
        if BOOL not in (self.type, known.type):
            if self.value is not None and known.value is not None:
                return Number(self.value & known.value)
            return Operation("&", self, known)
        if self == FALSE or known == TRUE:
            return self
        return known if self == TRUE or known == FALSE else Operation("&&", self, known)

    def __or__(self, other: Operand) -> Expression:
        known = expression(other)
        if BOOL not in (self.type, known.type):
            return Operation("|", self, known)
        if self == TRUE or known == FALSE:
            return self
        return known if self == FALSE or known == TRUE else Operation("||", self, known)

    def __xor__(self, other: Operand) -> Expression:
        return Operation("^", self, expression(other))

    def __invert__(self) -> Expression:
        return Unary("~", self)


class Number(Expression):
    __slots__ = ()

    def __init__(self, value: int) -> None:
        super().__init__(INT, ATOM if value >= 0 else UNARY, (value,), value)

    def _print(self) -> str:
        # In C, -2147483648 is the negative of a number that no int holds.
        least = self.value == -(2**31)
        return "(-2147483647 - 1)" if least else str(self.value)


class Word(Expression):
    """An integer of 32 bits without a sign."""

    __slots__ = ()

    def __init__(self, value: int) -> None:
        super().__init__(UINT, ATOM, (value,))

    def _print(self) -> str:
        value = self.parts[0]
        return f"{value}u" if value < 2**16 else f"0x{value:08x}u"


class Real(Expression):
    """A finite float, rounded to single precision."""

    __slots__ = ()

    def __init__(self, value: float) -> None:
        super().__init__(FLOAT, ATOM if value >= 0 else UNARY, (float(value),))

    def _print(self) -> str:
        return float_text(self.parts[0])


class Name(Expression):
    __slots__ = ("changes",)

    def __init__(self, name: str, type: str = INT, changes: bool = False) -> None:
        super().__init__(type, ATOM, (name,))
        self.changes = changes  # Whether statements assign to it after its declaration.

    def _print(self) -> str:
        return str(self.parts[0])


class Unary(Expression):
    """An operand and the sign before it."""

    __slots__ = ()

    def __init__(self, sign: str, operand: Expression) -> None:
        super().__init__(operand.type, UNARY, (sign, operand))

    def _print(self) -> str:
        sign, operand = self.parts
        return f"{sign}{operand.within(ATOM)}"


class Sum(Expression):
    """Integers: terms, each times a factor, and a constant."""

    __slots__ = ()

    @property
    def operands(self) -> tuple[Expression, ...]:
        return tuple(term for term, _ in self.parts[0])

    def __init__(self, terms: tuple[tuple[Expression, int], ...], constant: int) -> None:
        several = len(terms) > 1 or constant
        level = SUM if several else UNARY if terms[0][1] == -1 else PRODUCT
        super().__init__(INT, level, (terms, constant))

    @property
    def written(self) -> Expression:
        """The same as one operation after the other."""
        terms, constant = self.parts
        (first, factor), *rest = terms
        found: Expression
        if factor < 0 < constant:
            found, rest, constant = _number(constant), terms, 0
        else:
            found = Unary("-", first) if factor == -1 else _product(first, factor)
        for term, factor in rest:
            found = Operation("+" if factor > 0 else "-", found, _product(term, abs(factor)))
        if constant:
            found = Operation("+" if constant > 0 else "-", found, _number(abs(constant)))
        return found

    def _print(self) -> str:
        return self.written.text


class Operation(Expression):
    __slots__ = ()

    def __init__(self, sign: str, left: Expression, right: Expression) -> None:
        level, kind = INFIX[sign], left.type
        if kind != right.type and level != SHIFT:
            left, right = alike(left, right)
            kind = common_type(left, right)
        elif level in (SUM, PRODUCT) and (left.single is None) != (right.single is None):
            left, right = (each if each.single is None else each.single for each in (left, right))
        if level in _TRUTHS:
            kind = BOOLS if kind in LANE else BOOL
        super().__init__(kind, level, (sign, left, right))

    def _print(self) -> str:
        sign, left, right = self.parts
        level = self.level
        # Where languages differ in what binds tighter, or compilers warn, parentheses tell.
        if level in (OR, AND):
            first, second = (
                side.text if side.level == level else side.within(BITS) for side in (left, right)
            )
        elif level in (BITS, SHIFT):
            same = level == BITS and left.level == BITS and left.parts[0] == sign
            first, second = left.text if same else left.within(UNARY), right.within(UNARY)
        else:
            first, second = left.within(level), right.within(level + 1)
        return f"{first} {sign} {second}"


TRUE, FALSE = Name("true", BOOL), Name("false", BOOL)


def expression(value: Operand) -> Expression:
    if isinstance(value, Expression):
        return value
    if isinstance(value, int):
        return _number(int(value))
    if isinstance(value, float):
        return Real(value)
    raise TypeError(f"{value!r} is no expression of a kernel")


@lru_cache(maxsize=4096)
def _number(value: int) -> Number:
    return Number(value)


def as_written(*operands: Expression) -> bool:
    """Whether arithmetic on them keeps to the order it is written in."""
    for operand in operands:  # noqa: SIM110, which is faster
        if operand.type not in WHOLE:
            return True
    return False


def common_type(*operands: Expression) -> str:
    """The type of what is computed of operands: that of slices among them, or else of floats."""
    found = INT
    for operand in operands:
        if operand.type in LANE:
            return operand.type
        if found == INT:
            found = operand.type
    return found


def alike(*operands: Expression) -> tuple[Expression, ...]:
    """Operands of which numbers are of the kind of the others, as some languages do not convert."""
    types = {operand.type for operand in operands}
    if len(types) == 1 or types <= EXACT:
        return operands
    number = Word if types & {UINT, UINTS} else Real
    return tuple([each if each.value is None else number(each.value) for each in operands])


def _terms(value: Expression) -> tuple[tuple[Any, ...], int]:
    """An integer as terms with their factors, and a constant."""
    if isinstance(value, Sum):
        return value.parts[0], value.parts[1]
    return (((value, 1),), 0) if value.value is None else ((), value.value)


def _joined(terms: dict[Expression, int], constant: int) -> Expression:
    """The sum, in which a quotient times its divisor, and the remainder, are the dividend again."""
    for term, factor in terms.items():
        if not isinstance(term, Operation) or term.parts[0] != "%" or term.parts[2].value is None:
            continue
        dividend: Expression = term.parts[1]
        divisor = term.parts[2].value
        quotient = dividend // divisor
        if terms.get(quotient) == factor * divisor:
            rest = tuple((each, n) for each, n in terms.items() if each not in (term, quotient))
            return _sum(rest, constant) + dividend * factor
    return _sum(tuple(terms.items()), constant)


def _sum(terms: tuple[tuple[Expression, int], ...], constant: int) -> Expression:
    left = tuple([term for term in terms if term[1]])
    if not left:
        return Number(constant)
    if len(left) == 1 and left[0][1] == 1 and (not constant or isinstance(left[0][0], Sum)):
        return left[0][0] + constant
    return Sum(left, constant)


def _product(term: Expression, factor: int) -> Expression:
    return term if factor == 1 else Operation("*", term, _number(factor))


def _compared(sign: str, left: Expression, right: Operand) -> Expression:
    right = expression(right)
    if left.value is not None and right.value is not None:
        a, b = left.value, right.value
        holds = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}
        return TRUE if holds[sign] else FALSE
    return Operation(sign, left, right)
