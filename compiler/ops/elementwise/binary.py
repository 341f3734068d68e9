"""The table of elementwise operators with two operands, which broadcast as in numpy."""

from typing import Any

import numpy as np

from ...ir import Array, Op
from ..base.definition import define
from ..base.shapes import same_as_first
from ..base.storage import FLOATS, INTEGERS
from ..base.traits import among_operands
from .elementwise import ELEMENTWISE, IMPLEMENTATIONS, Elementwise, Formula, define_elementwise

_ARITHMETIC = (*FLOATS, *INTEGERS)

# A sum whose second operand has fewer channels and is zero past the last.
ADD_PADDED = "tflgpu.add_padded"


def _arithmetic(formula: Formula, **others: Any) -> Elementwise:
    return Elementwise(formula, dtypes=_ARITHMETIC, cheap=True, **others)


def _chosen(formula: Formula, integer: Formula) -> Elementwise:
    """One of the operands. Only a NaN of the second one propagates, as in LiteRT."""
    return Elementwise(
        formula, integer, dtypes=_ARITHMETIC, versions=4, cheap=True, range=among_operands
    )


def _bitwise(formula: Formula) -> Elementwise:
    return Elementwise(formula, dtypes=(*INTEGERS, "bool"))


def _modulus(f: Any, a: Any, b: Any) -> Any:
    """Of integers, with the sign of the divisor."""
    return f.int_remainder(f.int_remainder(a, b) + b, b)


BINARY = {
    "ADD": _arithmetic(lambda f, a, b: a + b, versions=6, neutral=0.0),
    "ATAN2": Elementwise(
        lambda f, a, b: f.atan2_nan(a, b),
        note="broadcasts; LiteRT takes the shape of the first operand for both",
    ),
    "BITWISE_XOR": _bitwise(lambda f, a, b: a ^ b),
    "DIV": Elementwise(
        lambda f, a, b: a / b,
        integer=lambda f, a, b: f.int_quotient(a, b),
        dtypes=_ARITHMETIC,
        versions=2,
        cheap=True,
        neutral=1.0,
    ),
    "FLOOR_DIV": Elementwise(
        lambda f, a, b: f.floor_div(a, b),
        integer=lambda f, a, b: f.int_quotient(a - _modulus(f, a, b), b),
        dtypes=_ARITHMETIC,
        versions=3,
    ),
    "FLOOR_MOD": Elementwise(
        lambda f, a, b: f.floor_mod(a, b),
        integer=_modulus,
        dtypes=_ARITHMETIC,
        note="in GLSL wrong for float quotients above 2^22",
        versions=2,
    ),
    "MAXIMUM": _chosen(lambda f, a, b: f.larger(a, b), lambda f, a, b: f.max(a, b)),
    "MINIMUM": _chosen(lambda f, a, b: f.smaller(a, b), lambda f, a, b: f.min(a, b)),
    "MUL": _arithmetic(lambda f, a, b: a * b, versions=8, neutral=1.0, declared="a:U b:U -> y:U"),
    "POW": Elementwise(
        lambda f, a, b: f.power(a, b),
        integer=lambda f, a, b: f.whole_power(a, b),
        dtypes=(*FLOATS, "int32"),
    ),
    "PRELU": Elementwise(
        lambda f, a, b: f.if_negative(a, b * a), cheap=True, declared="x:T slope:T -> y:T"
    ),
    # The sign stays where more than all bits leave, and nothing moves by less than 0.
    "RIGHT_SHIFT": Elementwise(lambda f, a, b: a >> f.clamp(b, 0, 31), dtypes=INTEGERS),
    "SQUARED_DIFFERENCE": Elementwise(
        lambda f, a, b: (a - b) * (a - b), dtypes=_ARITHMETIC, versions=2
    ),
    "STABLEHLO_ADD": _arithmetic(lambda f, a, b: a + b, versions=1, neutral=0.0),
    "STABLEHLO_AND": _bitwise(lambda f, a, b: a & b),
    "STABLEHLO_MAXIMUM": Elementwise(
        lambda f, a, b: f.larger(b, a),
        integer=lambda f, a, b: f.max(a, b),
        dtypes=_ARITHMETIC,
        cheap=True,
    ),
    "STABLEHLO_MINIMUM": Elementwise(
        lambda f, a, b: f.smaller(b, a),
        integer=lambda f, a, b: f.min(a, b),
        dtypes=_ARITHMETIC,
        cheap=True,
    ),
    "STABLEHLO_MULTIPLY": _arithmetic(lambda f, a, b: a * b, versions=1, neutral=1.0),
    # Only the lowest bits of b count, as on most processors.
    "STABLEHLO_SHIFT_LEFT": Elementwise(
        lambda f, a, b: a << (b & 31),
        dtypes=("int32",),
        note="shifts by more than 31 bits, or less than 0, give any number, in LiteRT too",
    ),
    "SUB": _arithmetic(lambda f, a, b: a - b, versions=5, neutral=0.0),
}

define_elementwise(BINARY)


def _add_padded(op: Op, wide: Array, narrow: Array) -> Array:
    """The narrower operand is added to the leading channels of the wider one."""
    result = np.array(wide)
    result[..., : narrow.shape[-1]] += narrow
    return result


# Accessors read zeros past the narrower operand's channels, so kernels just add.
ELEMENTWISE[ADD_PADDED] = Elementwise(lambda f, a, b: a + b)

define(ADD_PADDED, same_as_first, IMPLEMENTATIONS, _add_padded)
