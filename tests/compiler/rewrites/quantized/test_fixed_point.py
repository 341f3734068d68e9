"""Real factors as integers: LiteRT's QuantizeMultiplier."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tflgpu.compiler.rewrites.quantized.fixed_point import fixed_point, half_away


@pytest.mark.parametrize(
    ("factor", "multiplier", "exponent"),
    [
        (0.0, 0, 0),
        (0.5, 1 << 30, 0),
        (1.0, 1 << 30, 1),
        (3.0, 3 << 29, 2),
        (-0.75, -(3 << 29), 0),
        (1 - 2.0**-33, 1 << 30, 1),
        (0.5 + 2.0**-32, (1 << 30) + 1, 0),
        (-0.5 - 2.0**-32, -(1 << 30) - 1, 0),
        (2.0**-32, 1 << 30, -31),
        (2.0**-33, 0, 0),
    ],
)
def test_a_factor_has_31_bits(factor: float, multiplier: int, exponent: int) -> None:
    assert fixed_point(factor) == (multiplier, exponent)


def test_factors_are_rounded_to_the_nearest() -> None:
    random = np.random.default_rng(23)
    for factor in random.uniform(-1, 1, 500) * 2.0 ** random.integers(-20, 20, 500):
        multiplier, exponent = fixed_point(float(factor))
        assert 1 << 30 <= abs(multiplier) < 1 << 31
        unit = Fraction(2) ** (exponent - 31)
        assert abs(multiplier * unit - Fraction(float(factor))) <= unit / 2


def test_halves_are_rounded_away_from_zero() -> None:
    values = np.array([-2.5, -1.5, -0.5, -0.49, 0, 0.49, 0.5, 1.5, 2.5])
    np.testing.assert_array_equal(half_away(values), [-3, -2, -1, 0, 0, 0, 1, 2, 3])
