"""Real factors as integers, as LiteRT's own kernels multiply with them (gemmlowp's scheme)."""

from math import frexp
from typing import NamedTuple

import numpy as np

from ...ir import Array


class FixedPoint(NamedTuple):
    """A factor of multiplier * 2^(exponent - 31); the multiplier has 31 bits and a sign."""

    multiplier: int
    exponent: int


def fixed_point(factor: float) -> FixedPoint:
    """A factor as LiteRT's QuantizeMultiplier gives it: rounded, halves away from zero."""
    if factor == 0:
        return FixedPoint(0, 0)
    mantissa, exponent = frexp(abs(factor))
    multiplier = int(mantissa * 2**31 + 0.5)
    if multiplier == 2**31:
        multiplier, exponent = multiplier // 2, exponent + 1
    if exponent < -31:
        return FixedPoint(0, 0)
    return FixedPoint(multiplier if factor > 0 else -multiplier, exponent)


def half_away(values: Array | float) -> Array:
    """The nearest integers, halves away from zero, as C's round gives them."""
    return np.asarray(np.sign(values) * np.floor(np.abs(values) + 0.5))


def high_product(values: Array, factor: Array | int) -> Array:
    """gemmlowp's SaturatingRoundingDoublingHighMul: the upper half of a doubled product."""
    product = values.astype(np.int64) * factor
    moved = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    return np.where(moved >= 0, moved >> 31, -((-moved) >> 31))


def shift_away(values: Array, bits: Array | int) -> Array:
    """gemmlowp's RoundingDivideByPOT: shifted right, halves away from zero."""
    mask = (np.int64(1) << bits) - 1
    return np.asarray((values >> bits) + ((values & mask) > (mask >> 1) + (values < 0)))


def inverse_root(values: Array) -> tuple[Array, Array]:
    """1 / sqrt(values) as multipliers and exponents (GetInvSqrtQuantizedMultiplierExp).

    Of integers up to 2^31 - 1, by five steps of Newton's method with 3 bits before the point; of 1
    in place of smaller ones.
    """
    least = values <= 1
    a = np.where(least, 2, values).astype(np.int64)
    pairs = (31 - np.frexp(a.astype(np.float64))[1].astype(np.int64)) // 2
    start = np.where(pairs > 0, a << (2 * np.maximum(pairs - 1, 0)), a >> 2)
    half = shift_away(start >> 1, 1)
    x: Array = np.full(a.shape, 1 << 28, np.int64)
    for _ in range(5):
        cube = np.minimum(high_product(high_product(x, x), x) << 6, 2**31 - 1)
        x = np.asarray((high_product(x, 3 << 27) - high_product(half, cube)) << 3)
    x = high_product(x, 1518500250) << np.maximum(pairs - 12, 0)
    return np.where(least, 2**31 - 1, x), np.where(least, 0, np.minimum(pairs - 12, 0))


def wrapped(values: Array) -> Array:
    """Integers (int64) as LiteRT holds them in 32 bits."""
    return values.astype(np.int32).astype(np.int64)


def saturated(values: Array) -> Array:
    """Integers as LiteRT limits them to 16 bits."""
    return np.clip(values, -32768, 32767)


def upper_half(multiplier: int) -> int:
    """A multiplier of 31 bits, rounded to 15."""
    return min((multiplier + (1 << 15)) >> 16, 32767)


def multiply_rounded_twice(values: Array, multiplier: Array | int, exponent: Array | int) -> Array:
    """Integers times a fixed-point factor, rounded after the product and after the shift.

    MultiplyByQuantizedMultiplier, where a shift to the left wraps in 32 bits.
    """
    left = wrapped(values.astype(np.int64) << np.maximum(exponent, 0))
    return shift_away(high_product(left, multiplier), np.maximum(np.negative(exponent), 0))


def reciprocal(values: Array) -> tuple[Array, Array]:
    """1 / values with 31 bits, and how many bits they have before the point (gemmlowp)."""
    zeros = 32 - np.frexp(values.astype(np.float64))[1].astype(np.int64)
    rest = (values << zeros) - (1 << 31)
    half = (rest + (1 << 31)) >> 1
    x = 1515870810 + high_product(half, -1010580540)
    for _ in range(3):
        error = (1 << 29) - high_product(half, x)
        x = x + (high_product(x, error) << 2)
    return np.minimum(x << 1, (1 << 31) - 1), 31 - zeros


def shift_on_x86(values: Array, bits: Array | int) -> Array:
    """As LiteRT shifts right and rounds, also by negative numbers of bits or by more than 31.

    C leaves that open; x86 takes the lowest bits of the number.
    """
    bits = np.asarray(bits, np.int64)
    mask = np.where(bits & 63 < 32, (np.int64(1) << (bits & 31)) - 1, -1)
    return np.asarray((values >> (bits & 31)) + ((values & mask) > (mask >> 1) + (values < 0)))


def divide(a: Array, b: Array, multiplier: int, exponent: int) -> Array:
    """a / b times a fixed-point factor: the divisor's reciprocal, in as many bits as fit.

    LiteRT stops with an error at a divisor of 0; here it counts as the integer 1.
    """
    a, b = a * np.where(b < 0, -1, 1), np.maximum(np.abs(b), 1)
    inverse, bits = reciprocal(b)
    room = 31 - np.frexp(np.where(a < 0, -a - 0.5, a).astype(np.float64))[1].astype(np.int64)
    product = high_product(high_product(a << room, inverse), multiplier)
    return shift_on_x86(product, bits + room - exponent)
