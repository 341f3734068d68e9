"""The table of elementwise operators with two operands, which broadcast as in numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ir import Array
from .base import FLOATS, INTEGERS, among_operands
from .elementwise import Elementwise, define_elementwise

_ARITHMETIC = (*FLOATS, *INTEGERS)

_MODULUS = "{use.remainder_of}({use.remainder_of}({a}, {b}) + {b}, {b})"
"""Integer modulus with the sign of the divisor."""


def _arithmetic(sign: str, function: np.ufunc, versions: int, neutral: float) -> Elementwise:
    text = f"{{a}} {sign} {{b}}"
    return Elementwise(
        *(text, function, text, _ARITHMETIC), versions=versions, cheap=True, neutral=neutral
    )


def _bitwise(sign: str, function: np.ufunc) -> Elementwise:
    text = f"{{a}} {sign} {{b}}"
    return Elementwise(text, function, text, (*INTEGERS, "bool"))


def _divide(a: Array, b: Array) -> Array:
    """Integer division rounds towards zero; division by zero gives zero."""
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    quotients = np.abs(a) // np.where(b == 0, 1, np.abs(b))
    return np.asarray(np.where(b == 0, 0, quotients * np.sign(a) * np.sign(b)))


def _floor_divide(a: Array, b: Array) -> Array:
    """The floor of the quotient; numpy's floor_divide differs for infinities."""
    if a.dtype.kind != "f":
        return np.asarray(np.floor_divide(a, b))
    return np.floor(a.astype(np.float64) / b.astype(np.float64)).astype(a.dtype)


def _power(a: Array, b: Array) -> Array:
    """Integer powers wrap; a negative exponent gives 1, where LiteRT reports an error."""
    return np.asarray(np.power(a, b if a.dtype.kind == "f" else np.maximum(b, 0)))


def _second_nan(larger: np.ufunc) -> Callable[[Array, Array], Array]:
    """Only a NaN of the second operand propagates, as in LiteRT."""
    return lambda a, b: np.where(np.isnan(b), b, larger(a, b))


def _shift_left(a: Array, b: Array) -> Array:
    """Only the lowest bits of b count, as on most processors."""
    return np.asarray(np.left_shift(a, b & 31))


def _shift_right(a: Array, b: Array) -> Array:
    """The sign stays where more than all bits leave, and nothing moves by less than 0."""
    return np.asarray(np.right_shift(a, np.clip(b, 0, 31)))


def _squared_difference(a: Array, b: Array) -> Array:
    return np.asarray(np.square(np.subtract(a, b)))


BINARY = {
    "ADD": _arithmetic("+", np.add, versions=6, neutral=0.0),
    "ATAN2": Elementwise(
        "{use.angle_of}({a}, {b})",
        np.arctan2,
        note="broadcasts; LiteRT takes the shape of the first operand for both",
    ),
    "BITWISE_XOR": _bitwise("^", np.bitwise_xor),
    "DIV": Elementwise(
        "{a} / {b}",
        _divide,
        "{use.quotient_of}({a}, {b})",
        _ARITHMETIC,
        versions=2,
        cheap=True,
        neutral=1.0,
    ),
    "FLOOR_DIV": Elementwise(
        "{use.floor_div}({a}, {b})",
        _floor_divide,
        f"{{use.quotient_of}}({{a}} - {_MODULUS}, {{b}})",
        _ARITHMETIC,
        versions=3,
    ),
    "FLOOR_MOD": Elementwise(
        "{use.floor_mod}({a}, {b})",
        np.mod,
        _MODULUS,
        _ARITHMETIC,
        note="in GLSL wrong for float quotients above 2^24",
        versions=2,
    ),
    "MAXIMUM": Elementwise(
        "{use.larger}({a}, {b})",
        _second_nan(np.fmax),
        "max({a}, {b})",
        _ARITHMETIC,
        versions=4,
        cheap=True,
        range=among_operands,
    ),
    "MINIMUM": Elementwise(
        "{use.smaller}({a}, {b})",
        _second_nan(np.fmin),
        "min({a}, {b})",
        _ARITHMETIC,
        versions=4,
        cheap=True,
        range=among_operands,
    ),
    "MUL": _arithmetic("*", np.multiply, versions=8, neutral=1.0),
    "POW": Elementwise(
        "{use.power}({a}, {b})", _power, "{use.whole_power}({a}, {b})", (*FLOATS, "int32")
    ),
    "PRELU": Elementwise(
        "{use.if_negative}({a}, {b} * {a})",
        lambda a, b: np.where(a < 0, b * a, a),
        cheap=True,
    ),
    "RIGHT_SHIFT": Elementwise(
        "{a} >> clamp({b}, 0, 31)", _shift_right, "{a} >> clamp({b}, 0, 31)", INTEGERS
    ),
    "SQUARED_DIFFERENCE": Elementwise(
        "({a} - {b}) * ({a} - {b})",
        _squared_difference,
        "({a} - {b}) * ({a} - {b})",
        _ARITHMETIC,
        versions=2,
    ),
    "STABLEHLO_ADD": _arithmetic("+", np.add, versions=1, neutral=0.0),
    "STABLEHLO_AND": _bitwise("&", np.bitwise_and),
    "STABLEHLO_MAXIMUM": Elementwise(
        "{use.larger}({b}, {a})",
        lambda a, b: np.asarray(np.where(a < b, b, a)),
        "max({a}, {b})",
        _ARITHMETIC,
        cheap=True,
    ),
    "STABLEHLO_MINIMUM": Elementwise(
        "{use.smaller}({b}, {a})",
        lambda a, b: np.asarray(np.where(b < a, b, a)),
        "min({a}, {b})",
        _ARITHMETIC,
        cheap=True,
    ),
    "STABLEHLO_MULTIPLY": _arithmetic("*", np.multiply, versions=1, neutral=1.0),
    "STABLEHLO_SHIFT_LEFT": Elementwise(
        "{a} << ({b} & 31)",
        _shift_left,
        "{a} << ({b} & 31)",
        ("int32",),
        note="shifts by more than 31 bits, or less than 0, give any number, in LiteRT too",
    ),
    "SUB": _arithmetic("-", np.subtract, versions=5, neutral=0.0),
}

define_elementwise(BINARY)
