"""Real factors as integers, as LiteRT's own kernels multiply with them (gemmlowp's scheme)."""

from __future__ import annotations

from math import frexp
from typing import NamedTuple

import numpy as np

from ..ir import Array


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


def multiply_rounded_twice(values: Array, multiplier: Array | int, exponent: Array | int) -> Array:
    """Integers times a fixed-point factor, rounded after the product and after the shift."""
    left = np.maximum(exponent, 0)
    return shift_away(
        high_product(values.astype(np.int64) << left, multiplier),
        np.maximum(np.negative(exponent), 0),
    )
