"""Real factors as integers, as LiteRT's own kernels multiply with them (gemmlowp's scheme)."""

from __future__ import annotations

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
