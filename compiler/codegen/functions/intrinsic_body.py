"""What formulas of intrinsics call: functions of their language, and statements before a result."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from ...intrinsics import INTRINSICS
from ...language.expression import Expression, Name, Operand, expression
from ...language.functions import lane
from ...language.language import Language
from ...language.primary import Call, Step
from ...language.statement import (
    Assign,
    Declare,
    Evaluate,
    For,
    If,
    Remark,
    Return,
    Statement,
    Statements,
    While,
)
from ...language.types import FLOATS, INT, INTS, LANE, UINT, UINTS
from .kernel_functions import KernelFunctions
from .use import Function, Use


class Body(KernelFunctions):
    """Each function by attribute, for single values and for slices, as its operands are."""

    def __init__(self, language: Language, lanes: int, of_slices: bool) -> None:
        """Slices have so many lanes; `of_slices` for variants of intrinsics that take them."""
        self.used: set[str] = set()  # The intrinsics that it calls.
        super().__init__(language, Use(self.used, of_slices), lanes)
        self.statements: list[Statement] = []

    def __getattr__(self, name: str) -> Function:
        return self.use.function(name) if name in INTRINSICS else Function(name)

    def _converted(self, kind: str, value: Expression, type: str) -> Expression:
        return super()._converted(kind, value, type if value.type in LANE else kind)

    def to_uint(self, value: Expression) -> Expression:
        return Call("uint", value, type=UINT)

    def to_uints(self, *values: Operand) -> Expression:
        """Four integers without a sign, of a slice or of a value for each."""
        return Call("uvec4", *values, type=UINTS)

    def fabs(self, value: Expression) -> Expression:
        return Function("fabs" if self.language.casts_as_in_c else "abs")(value)

    @property
    def lane_numbers(self) -> Expression:
        """The number of each lane."""
        return self.ints(*range(self.lanes))

    def floats(self, *values: Operand) -> Expression:
        """A slice, of a value for each lane or of one for all."""
        return self.language.made(FLOATS, self.lanes, *values)

    def ints(self, *values: Operand) -> Expression:
        return self.language.made(INTS, self.lanes, *values)

    def each_lane(self, value: Expression) -> list[Expression]:
        return [lane(value, number, self.lanes) for number in range(self.lanes)]

    def let(self, name: str, value: Operand) -> Name:
        """A variable."""
        known = expression(value)
        self.statements.append(Declare(known.type, name, value=known))
        return Name(name, known.type, changes=True)

    def assign(self, target: Expression, value: Operand, sign: str = "=") -> None:
        self.statements.append(Assign(target, sign, expression(value)))

    def remark(self, text: str) -> None:
        self.statements.append(Remark(f"// {text}"))

    def give_where(self, condition: Expression, value: Operand) -> None:
        """End with a result, under a condition."""
        result = Statements((Return(expression(value)),))
        self.statements.append(If(condition, result, Statements(())))

    def times(self, rounds: int) -> AbstractContextManager[None]:
        """What is made within is repeated."""
        start, step = Declare(INT, "step", value=expression(0)), Name("step")
        return self._inside(lambda inner: For(start, step < rounds, Evaluate(Step(step, 1)), inner))

    def as_long_as(self, condition: Expression) -> AbstractContextManager[None]:
        """What is made within is repeated as long as a condition holds."""
        return self._inside(lambda inner: While(condition, inner))

    @contextmanager
    def _inside(self, loop: Callable[[Statements], Statement]) -> Iterator[None]:
        around, self.statements = self.statements, []
        yield
        around.append(loop(Statements(tuple(self.statements))))
        self.statements = around
