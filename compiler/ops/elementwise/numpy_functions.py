"""The functions that formulas call, in numpy: what intrinsics and built-in functions compute.

Each has the name by which formulas call it, as in `codegen.functions.kernel_functions`. Those
of intrinsics with one formula for all languages are computed by that.

Integers are int64 that hold what kernels have in 32 bits. Where a function of a kernel wraps its
operand, so does this.
"""

import sys
from collections.abc import Callable
from functools import partial
from math import erfc
from typing import Any

import numpy as np

from ...intrinsics import INTRINSICS
from ...ir import Array
from . import fixed_point
from .fixed_point import half_away, wrapped

Value = Any  # An array or a number.
wide = False  # Formulas are those for slices of any width.

ceil, cos, exp, exp2, floor, log = np.ceil, np.cos, np.exp, np.exp2, np.floor, np.log
sign, sin, sqrt, tanh = np.sign, np.sin, np.sqrt, np.tanh
max, min, clamp, limit, at_least = np.maximum, np.minimum, np.clip, np.clip, np.maximum
equals, differs, less, less_equal = np.equal, np.not_equal, np.less, np.less_equal
greater, greater_equal, isnan, select = np.greater, np.greater_equal, np.isnan, np.where
atan2_nan, floor_mod, power, round_even = np.arctan2, np.mod, np.power, np.rint
_complement = np.vectorize(erfc, otypes=[np.float64])
multiply_rounded_twice = fixed_point.multiply_rounded_twice
divide_in_fixed_point = fixed_point.divide


def to_int(value: Array) -> Array:
    return value.astype(np.int64)


def to_float(value: Array) -> Array:
    return value.astype(np.float32)


def rounded(value: Array) -> Array:
    return value.astype(np.float32)


def in_order(value: Array) -> Array:
    return value


def round_away(value: Array) -> Array:
    return half_away(value.astype(np.float64)).astype(value.dtype)


def tail_exponent(t: Array) -> Array:
    """log2 of the probability of a normal distribution beyond t deviations."""
    return np.asarray(np.log2(_complement(np.minimum(t, 6.0) / 2**0.5) / 2))


def larger(a: Array, b: Array) -> Array:
    return np.where(np.isnan(b), b, np.fmax(a, b))


def smaller(a: Array, b: Array) -> Array:
    return np.where(np.isnan(b), b, np.fmin(a, b))


def floor_div(a: Array, b: Array) -> Array:
    """numpy's floor_divide differs for infinities."""
    return np.floor(a.astype(np.float64) / b.astype(np.float64)).astype(a.dtype)


def int_quotient(a: Array, b: Array) -> Array:
    """Rounded towards zero; 0 where b is 0."""
    quotients = np.abs(a) // np.where(b == 0, 1, np.abs(b))
    return np.asarray(np.where(b == 0, 0, quotients * np.sign(a) * np.sign(b)))


def whole_power(a: Array, b: Array) -> Array:
    """A negative exponent gives 1, where LiteRT reports an error."""
    return np.asarray(np.power(a, np.maximum(b, 0)))


def power_below(value: Array) -> Array:
    return np.exp2(np.floor(np.log2(np.maximum(value.astype(np.float64), 1))))


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(a.astype(np.float64) * b + c, np.float32)


def multiply_add_wide(a: Array, b: Array, c: Array, d: Array) -> Array:
    return np.asarray((a.astype(np.float64) + b) * c + d, np.float32)


def scale_wide(a: Array, b: Array, c: Array, multiplier: Value, shift: Value) -> Array:
    total = (a * 256 + b) * 256 + c
    return wrapped(np.asarray((total * multiplier + (np.int64(1) << (shift - 1))) >> shift))


def multiply_each_upwards(a: Array, multiplier: Value, exponent: Value, ties_away: Value) -> Array:
    """Rounded twice; ties of the shift upwards, or away from zero where `ties_away` is 1."""
    left = np.maximum(exponent, 0)
    product = fixed_point.multiply_rounded_twice(a, multiplier, left)
    right = np.maximum(np.negative(exponent), 0)
    half = (np.int64(1) << right) >> 1
    away = np.where(right > 0, (product >> 63) * ties_away, 0)
    return np.asarray((product + half + away) >> right)


def inverse_root(a: Array) -> Array:
    return fixed_point.inverse_root(a)[0]


def inverse_root_exponent(a: Array) -> Array:
    return fixed_point.inverse_root(a)[1]


def __getattr__(name: str) -> Callable[..., Array]:
    """An intrinsic whose formula holds in every language."""
    formula = INTRINSICS[name].formula if name in INTRINSICS else None
    if formula is None:
        raise AttributeError(
            f"no function {name} in compiler/ops/elementwise/numpy_functions.py or in numpy"
        )
    return partial(formula, sys.modules[__name__])
