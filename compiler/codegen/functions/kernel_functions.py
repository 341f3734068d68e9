"""The functions that formulas call and the numbers in them, as expressions of a kernel language."""

from math import isfinite
from typing import Any

import numpy as np

from ...language.expression import Expression, Name, Number, Operand, Real, expression
from ...language.functions import select
from ...language.language import Language
from ...language.primary import Call, Cast
from ...language.types import BOOLS, FLOAT, FLOATS, INT, INTS, LANE
from ...ops.elementwise.elementwise import Formula
from .use import Function, Use


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
BUILT_IN = frozenset({"ceil", "clamp", "floor", "max", "min", "sign", "sqrt"})


# By function, the intrinsic where slices are wide, and the built-in one elsewhere. `decay` is e to
# a power that is at most 0, as right as it must be beside a power of 0; `exp2` is 2 to a power from
# -126 to 127.
_QUICK = {
    **{"exp": ("quick_exp", "exp"), "decay": ("quick_decay", "exp")},
    **{"exp2": ("quick_exp2", "exp2"), "sin": ("quick_sin", "sin"), "cos": ("quick_cos", "cos")},
    **{"log": ("quick_log", "log"), "tanh": ("quick_tanh", "tanh")},
}


class KernelFunctions:
    """Each function by attribute: a conversion, an operator, a built-in function or an intrinsic.

    The module `ops.elementwise.numpy_functions` has the same functions in numpy.
    """

    def __init__(self, language: Language, use: Use, lanes: int, wide: bool = False) -> None:
        self.language, self.use = language, use
        self.lanes = lanes  # Lanes of a slice; 0 for single values.
        self.wide = wide  # Whether slices have more than four lanes, as on processors alone.
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
        return self._converted("float", expression(value), self._float)

    def whole_float(self, value: Expression) -> Expression:
        """Floats of integers of any size, which formulas of integers take as they were."""
        found = self.to_float(value)
        found.whole = value
        return found

    def _converted(self, kind: str, value: Expression, type: str) -> Expression:
        """`type` is that of slices, or `kind`."""
        if type != kind:
            return Call(self.language.casts(self.lanes)[kind], value, type=type)
        if self.language.casts_as_in_c:
            return Cast(kind, value, type)
        return Call(self.language.casts(0)[kind], value, type=type)

    def bits_to_int(self, value: Expression) -> Expression:
        """The bits of a float as an integer, or those of each lane."""
        return self._with_same_bits(value, INT, INTS)

    def bits_to_float(self, value: Expression) -> Expression:
        return self._with_same_bits(value, FLOAT, FLOATS)

    def _with_same_bits(self, value: Expression, one: str, several: str) -> Expression:
        type = several if value.type in LANE else one
        name = self.language.bit_casts[one].format(type=self.language.name_of(type, self.lanes))
        return Call(name, value, type=type)

    def equals(self, a: Expression, b: Operand) -> Expression:
        return self._compared(a.equals(b))

    def differs(self, a: Expression, b: Operand) -> Expression:
        return self._compared(a.differs(b))

    def less(self, a: Expression, b: Operand) -> Expression:
        return self._compared(a < b)

    def greater(self, a: Expression, b: Operand) -> Expression:
        return self._compared(a > b)

    def less_equal(self, a: Expression, b: Operand) -> Expression:
        return self._compared(a <= b)

    def greater_equal(self, a: Expression, b: Operand) -> Expression:
        return self._compared(a >= b)

    def _compared(self, found: Expression) -> Expression:
        """A comparison, of slices lane by lane."""
        function = self.language.lane_comparisons.get(found.parts[0])
        if found.type != BOOLS or function is None:
            return found
        _, left, right = found.parts
        return Call(function, left, self._in_lanes(right, left.type), type=BOOLS)

    def select(self, condition: Expression, chosen: Operand, other: Operand) -> Expression:
        if condition.type != BOOLS:
            return select(condition, chosen, other)
        values = [self._in_lanes(expression(each), FLOATS) for each in (other, chosen)]
        return Call(self.language.lane_choice, *values, condition, type=FLOATS)

    def _in_lanes(self, value: Expression, type: str) -> Expression:
        return value if value.type in LANE else self.language.made(type, self.lanes, value)

    def __getattr__(self, name: str) -> Function:
        if name in _QUICK:
            quick, built_in = _QUICK[name]
            return self.use.function(quick) if self.wide else Function(built_in)
        return Function(name) if name in BUILT_IN else self.use.function(name)
