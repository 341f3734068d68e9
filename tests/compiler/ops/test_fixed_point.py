"""Real factors as integers, as LiteRT and gemmlowp multiply with them."""

from fractions import Fraction

import numpy as np
import pytest
from quantized_operators import half_away as half_away_of
from quantized_operators import half_up

from tflgpu.compiler.ops.elementwise.fixed_point import (
    fixed_point,
    half_away,
    high_product,
    inverse_root,
    multiply_rounded_twice,
    shift_away,
)


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


def test_products_and_shifts_round_as_gemmlowp_does() -> None:
    """Halves of the product are rounded up, halves of the shift away from zero."""
    random = np.random.default_rng(31)
    values = np.concatenate([random.integers(-(1 << 20), 1 << 20, 200), np.arange(-9, 10)])
    for factor in (1 << 30, -(1 << 30), 3 << 29, (1 << 31) - 1):
        expected = [half_up(Fraction(int(value) * factor, 1 << 31)) for value in values]
        np.testing.assert_array_equal(high_product(values, factor), expected)
    for bits in (0, 1, 2, 7):
        expected = [half_away_of(Fraction(int(value), 1 << bits)) for value in values]
        np.testing.assert_array_equal(shift_away(values, bits), expected)


@pytest.mark.parametrize("factor", [0.37, 1.0, 0.5, 5.25, -0.125, 1e-3])
def test_two_roundings_are_off_by_at_most_three_quarters(factor: float) -> None:
    values = np.arange(-3000, 3000, 7)
    found = multiply_rounded_twice(values, *fixed_point(factor))
    assert np.abs(found - values * factor).max() <= 0.75 + 1e-6


def test_inverse_roots_are_right_to_19_bits() -> None:
    values = np.array([2, 3, 4, 5, 63, 65536, 10**6, 2**28, 2**29, 2**31 - 1])
    multipliers, exponents = inverse_root(values)
    found = multipliers * 2.0 ** (exponents - 31)
    np.testing.assert_allclose(found, 1 / np.sqrt(values), rtol=2.0**-19)
    assert exponents.max() <= 0


def test_the_inverse_roots_of_0_and_1_are_the_greatest_multiplier() -> None:
    multipliers, exponents = inverse_root(np.array([0, 1]))
    assert multipliers.tolist() == [2**31 - 1] * 2
    assert exponents.tolist() == [0, 0]
