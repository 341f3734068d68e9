"""The functions that formulas call and the numbers in them, as expressions of a kernel language."""

from math import isfinite
from typing import Any

import numpy as np

from ..language.expression import Expression, Name, Number, Operand, Operation, Real, expression
from ..language.functions import select
from ..language.language import Language
from ..language.primary import Call, Cast
from ..language.types import FLOAT, FLOATS, INT, INTS
from ..ops.elementwise import Formula
from .intrinsics import Function, Use


def literal(value: float, use: Use, dtype: str = "float32") -> Expression:
    """A number that is valid in every language: the nearest float32, or an int32.

    >>> use = Use(set())
    >>> literal(0.1, use), literal(-6, use), literal(-np.inf, use)
    (0.1f, -6.0f, -INFINITY)
    >>> literal(-6, use, "int32"), literal(-(2**31), use, "int32")
    (-6, (-2147483647 - 1))
    """
    if dtype == "int32":
        if np.isinf(value):
            value = 2**31 - 1 if value > 0 else -(2**31)
        return Number((int(value) + 2**31) % 2**32 - 2**31)
    if np.isnan(value):
        return Name(use.NAN, FLOAT)
    if np.isinf(np.float32(value)):
        infinity = Name(use.INFINITY, FLOAT)
        return infinity if value > 0 else -infinity
    return expression(float(value))


# Functions that every kernel language has, for slices and for single values.
BUILT_IN = frozenset({"ceil", "clamp", "floor", "log", "max", "min", "sign", "sqrt", "tanh"})


class KernelFunctions:
    """Each function by attribute: a conversion, an operator, a built-in function or an intrinsic.

    The module `ops.numpy_functions` has the same functions in numpy.
    """

    def __init__(self, language: Language, use: Use, lanes: int, wide: bool = False) -> None:
        self.language, self.use = language, use
        self.lanes = lanes  # Lanes of a slice; 0 for single values.
        self.wide = wide  # Whether slices have more than four lanes, as on processors alone.
        self._casts = language.casts(lanes)
        self._int, self._float = (INTS, FLOATS) if lanes else (INT, FLOAT)

    def variable(self, name: str, dtype: str) -> Name:
        return Name(name, self._int if dtype == "int32" else self._float)

    def value(self, formula: Formula, *operands: Expression, **attrs: Any) -> Expression:
        """A formula of operands, and of attributes that are numbers, pairs of them or switches."""
        known = {name: self._number(value) for name, value in attrs.items()}
        return expression(formula(self, *operands, **known))

    def _number(self, value: Any) -> Any:
        return value if isinstance(value, tuple) or isfinite(value) else literal(value, self.use)

    def to_int(self, value: Operand) -> Expression:
        """Integers of floats, whose fractions are cut, or of truth values."""
        known = expression(value)
        if isinstance(known, Real) and not self.lanes:
            return Number(int(known.parts[0]))
        return self._converted("int", known, self._int) if known.whole is None else known.whole

    def to_float(self, value: Operand) -> Expression:
        return self._converted("float", value, self._float)

    def whole_float(self, value: Expression) -> Expression:
        """Floats of integers of any size, which formulas of integers take as they were."""
        found = self.to_float(value)
        found.whole = value
        return found

    def _converted(self, kind: str, value: Operand, type: str) -> Expression:
        if self.language.casts_as_in_c and not self.lanes:
            return Cast(kind, value, type)
        return Call(self._casts[kind], value, type=type)

    def exp(self, value: Operand) -> Expression:
        return self._quick("quick_exp", "exp")(value)

    def decay(self, value: Operand) -> Expression:
        """e to a power that is at most 0, as right as it must be beside a power of 0."""
        return self._quick("quick_decay", "exp")(value)

    def exp2(self, value: Operand) -> Expression:
        """2 to a power from -126 to 127."""
        return self._quick("quick_exp2", "exp2")(value)

    def sin(self, value: Operand) -> Expression:
        return self._quick("quick_sin", "sin")(value)

    def cos(self, value: Operand) -> Expression:
        return self._quick("quick_cos", "cos")(value)

    def _quick(self, name: str, built_in: str) -> Function:
        return self.use.function(name) if self.wide else Function(built_in)

    def equals(self, a: Expression, b: Operand) -> Expression:
        return a.equals(b)

    def differs(self, a: Expression, b: Operand) -> Expression:
        return a.differs(b)

    def select(self, condition: Expression, chosen: Operand, other: Operand) -> Expression:
        return select(condition, chosen, other)

    def bit_and(self, a: Operand, b: Operand) -> Expression:
        return Operation("&", expression(a), expression(b))

    def bit_or(self, a: Operand, b: Operand) -> Expression:
        return Operation("|", expression(a), expression(b))

    def bit_xor(self, a: Operand, b: Operand) -> Expression:
        return Operation("^", expression(a), expression(b))

    def __getattr__(self, name: str) -> Function:
        return Function(name) if name in BUILT_IN else self.use.function(name)
