"""Expressions that Python's operators do not make: calls, conversions, elements, lanes, choices."""

from dataclasses import dataclass

from .expression import Expression, Name, Operand, Unary, alike, common_type, expression
from .notation import ATOM, CHOICE, OR, UNARY
from .types import INT


class Numeral(Expression):
    __slots__ = ()

    def __init__(self, text: str, type: str) -> None:
        super().__init__(type, ATOM, (text,))

    def _print(self) -> str:
        return str(self.parts[0])


def hexadecimal(word: int) -> Expression:
    """An integer by its 32 bits."""
    if word < 2**31:
        return Numeral(f"0x{word:08x}", INT)
    return Unary("-", Numeral(f"0x{2**32 - word:08x}", INT))


class Call(Expression):
    __slots__ = ()

    def __init__(self, function: str, *arguments: Operand, type: str = INT) -> None:
        super().__init__(type, ATOM, (function, *map(expression, arguments)))

    def _print(self) -> str:
        function, *arguments = self.parts
        return f"{function}({', '.join([argument.text for argument in arguments])})"


class Splat(Call):
    """A vector with one value in all lanes. Beside another vector, arithmetic takes that value."""

    __slots__ = ()

    @property
    def single(self) -> Expression:
        value: Expression = self.parts[1]
        return value

    @property
    def negative(self) -> bool:
        return self.single.negative

    def __neg__(self) -> Expression:
        return Splat(self.parts[0], -self.single, type=self.type)


class Cast(Expression):
    """A conversion as in C: the name of a type in parentheses, and what is converted."""

    __slots__ = ()

    def __init__(self, name: str, value: Operand, type: str) -> None:
        super().__init__(type, UNARY, (name, expression(value)))

    def _print(self) -> str:
        name, value = self.parts
        return f"({name}){value.within(ATOM)}"


class Element(Expression):
    """An element of an array, or a lane of a vector by its number."""

    __slots__ = ()

    def __init__(self, array: Expression, index: Operand, type: str = INT) -> None:
        super().__init__(type, ATOM, (array, expression(index)))

    def _print(self) -> str:
        array, index = self.parts
        return f"{array.within(ATOM)}[{index.text}]"


class Member(Expression):
    """Lanes of a vector by their names, or a field of a structure."""

    __slots__ = ()

    def __init__(self, value: Expression, name: str, type: str) -> None:
        super().__init__(type, ATOM, (value, name))

    def _print(self) -> str:
        value, name = self.parts
        return f"{value.within(ATOM)}.{name}"


class Step(Expression):
    """A variable, which is changed by 1 or -1 before or after it is read."""

    __slots__ = ()

    def __init__(self, variable: Expression, by: int, first: bool = False) -> None:
        """`first` if the value is that after the change."""
        super().__init__(variable.type, UNARY if first else ATOM, (variable, by, first))

    def _print(self) -> str:
        variable, by, first = self.parts
        sign = "++" if by > 0 else "--"
        return f"{sign}{variable.text}" if first else f"{variable.text}{sign}"


class Choice(Expression):
    """One of two values, by a condition."""

    __slots__ = ()

    def __init__(self, condition: Expression, chosen: Expression, other: Expression) -> None:
        chosen, other = alike(chosen, other)
        super().__init__(common_type(chosen, other), CHOICE, (condition, chosen, other))

    def _print(self) -> str:
        condition, chosen, other = (part.within(OR) for part in self.parts)
        return f"{condition} ? {chosen} : {other}"


@dataclass
class Array:
    """An array of a kernel's variables, which may be a single one."""

    name: str
    count: int
    type: str  # That of its elements.
    single: bool = False  # Whether it is declared as one variable.
    constant: bool = False  # Whether its elements keep the values that they are filled with.
    # The first of these if each of the others is so far from the one before it: there is no array.
    first: Expression | None = None
    step: int = 0

    def __call__(self, index: Operand) -> Expression:
        if self.first is not None:
            return self.first + expression(index) * self.step
        if self.single:
            return Name(self.name, self.type, changes=True)
        return Element(Name(self.name), index, self.type)

    def __str__(self) -> str:
        return self.name
