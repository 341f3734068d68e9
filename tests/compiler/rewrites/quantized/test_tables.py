"""Tables of functions of one 8-bit integer, compared with a calculation of each entry."""

import math
from collections.abc import Callable
from fractions import Fraction
from math import floor, frexp

import numpy as np
import pytest
from quantized_operators import (
    LIMITS,
    all_integers,
    computed_at_run_time,
    evaluated,
    half_away,
    half_up,
    lowered,
    quantized,
)

# By operator: the function, scale and zero point of its operand, and of its result.
FUNCTIONS: dict[str, tuple[Callable[[float], float], float, int, float, int]] = {
    "ABS": (abs, 0.05, 3, 0.06, -128),
    "ELU": (lambda x: math.expm1(x) if x < 0 else x, 0.05, -7, 0.04, -90),
    "EXP": (math.exp, 0.02, 5, 0.06, -128),
    "GELU": (lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2, 0.04, 0, 0.03, -100),
    "LOG": (math.log, 0.03, -128, 0.02, 40),
    "LOGISTIC": (lambda x: 1 / (1 + math.exp(-x)), 0.07, 10, 1 / 256, -128),
    "RSQRT": (lambda x: 1 / math.sqrt(x), 0.05, -128, 0.02, -128),
    "TANH": (math.tanh, 0.03, -5, 1 / 128, 0),
}

CLOSE_TO_A_TIE = 1e-4  # Of a rounded value: float32 and float64 may decide differently there.


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_every_entry_is_the_function_of_its_integer(name: str, dtype: str) -> None:
    function, scale, zero, result_scale, result_zero = FUNCTIONS[name]
    shift = 128 if dtype == "uint8" else 0
    low, high = LIMITS[dtype]
    zero, result_zero = zero + shift, result_zero + shift
    x = all_integers(scale, zero, dtype)
    found = evaluated(name, x, scale=result_scale, zero=result_zero, dtype=dtype)
    sure = 0
    for integer, entry in zip(range(low, high + 1), found.tolist(), strict=True):
        try:
            real = function(float(np.float32(scale)) * (integer - zero))
        except (ValueError, ZeroDivisionError):
            continue  # a logarithm or a root of what has none
        place = real / float(np.float32(result_scale)) + result_zero
        if abs(place - floor(place) - 0.5) < CLOSE_TO_A_TIE:
            continue
        sure += 1
        assert entry == min(max(floor(place + 0.5), low), high), f"of {integer}"
    assert sure >= 120


def test_neg_negates_the_stored_integers() -> None:
    """Whatever they stand for; the least one has no counterpart and stays."""
    found = evaluated("NEG", all_integers(0.05, 20), scale=0.03, zero=-7)
    assert found.tolist() == [-128, *range(127, -128, -1)]


def test_sqrt_is_cut_off_towards_zero() -> None:
    found = evaluated("SQRT", all_integers(0.05, -128), scale=0.02, zero=-60)
    for integer, entry in zip(range(-128, 128), found.tolist(), strict=True):
        place = math.sqrt(float(np.float32(0.05)) * (integer + 128)) / float(np.float32(0.02))
        if abs(place - round(place)) > CLOSE_TO_A_TIE or integer == -128:
            assert entry == min(math.trunc(place) - 60, 127), f"of {integer}"


def test_the_table_is_looked_up_where_the_operand_is_not_known() -> None:
    x = all_integers(0.03, -5)
    whole = evaluated("TANH", x, scale=1 / 128)
    graph = lowered("TANH", computed_at_run_time(x), scale=1 / 128)
    to_centered, look_up, from_centered = graph.ops
    assert [op.name for op in graph.ops] == [
        "tflgpu.to_centered",
        "tflgpu.look_up",
        "tflgpu.from_centered",
    ]
    assert (to_centered.attrs["zero_point"], from_centered.attrs["zero_point"]) == (-5, 0)
    # The first entry is that of the least integer, -128, which is -123 less the zero point.
    assert look_up.attrs["offset"] == 123
    np.testing.assert_array_equal(look_up.constant(1), whole)


RELUS = {"RELU": (0, None), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1), "RELU_0_TO_1": (0, 1)}


@pytest.mark.parametrize("name", RELUS)
@pytest.mark.parametrize(
    ("scale", "zero", "result_scale", "result_zero"),
    [
        (0.05, -3, 0.05, -3),
        (0.05, 2, 0.1, 7),
        (0.05, 11, 0.031, -128),
        (0.2, 0, 0.013, 5),
        (0.004, -90, 0.05, -20),
    ],
    ids=["same", "half", "finer", "much finer", "coarser"],
)
def test_relu_rounds_twice(
    name: str, scale: float, zero: int, result_scale: float, result_zero: int
) -> None:
    """After the product with 31 bits, halves up, and after the shift, halves away from zero."""
    out = np.float32(result_scale)
    mantissa, exponent = frexp(float(np.float64(np.float32(scale) / out)))
    multiplier = floor(mantissa * 2**31 + 0.5)
    least, most = RELUS[name]
    low, high = -128 - result_zero, 127 - result_zero
    low = max(low, half_away(Fraction(float(np.float32(least) / out))))
    if most is not None:
        high = min(high, half_away(Fraction(float(np.float32(most) / out))))
    expected = []
    for integer in range(-128, 128):
        value = (integer - zero) * 2 ** max(exponent, 0)
        product = half_up(Fraction(value * multiplier, 2**31))
        rounded = half_away(Fraction(product, 2 ** max(-exponent, 0)))
        expected.append(min(max(rounded, low), high) + result_zero)
    found = evaluated(name, all_integers(scale, zero), scale=result_scale, zero=result_zero)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("name", "function", "attrs"),
    [
        ("HARD_SWISH", lambda x: x * min(max(x + 3, 0), 6) / 6, {}),
        ("LEAKY_RELU", lambda x: max(x, 0.3 * x), {"alpha": 0.3}),
    ],
)
@pytest.mark.parametrize(
    ("scale", "zero", "result_scale", "result_zero"),
    [(0.05, -3, 0.05, -3), (0.04, 11, 0.031, -110), (0.1, -60, 0.12, -90)],
)
def test_16_bits_of_fixed_point_are_off_by_at_most_one(
    name: str,
    function: Callable[[float], float],
    attrs: dict[str, float],
    scale: float,
    zero: int,
    result_scale: float,
    result_zero: int,
) -> None:
    x = all_integers(scale, zero)
    found = evaluated(name, x, scale=result_scale, zero=result_zero, **attrs)
    for integer, entry in zip(range(-128, 128), found.tolist(), strict=True):
        place = function(scale * (integer - zero)) / result_scale + result_zero
        assert abs(entry - min(max(place, -128), 127)) <= 1, f"of {integer}"


def test_products_of_int16_with_a_factor_wrap_as_those_of_litert() -> None:
    """337 * 100147 is below 2^31, 30527 * 100147 above."""
    source = quantized("x", [337, 30527], 8.150368690490723, dtype="int16")
    assert evaluated("TANH", source, scale=2.0**-15, dtype="int16").tolist() == [32767, -32767]


def test_lines_between_infinite_ends_are_0() -> None:
    """The last line ends at the greatest integer."""
    source = quantized("x", [21073, 32686], 0.6206439137458801, dtype="int16")
    with np.errstate(all="ignore"):
        assert evaluated("EXP", source, dtype="int16").tolist() == [0, 11776]
