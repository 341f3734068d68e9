"""QUANTIZE and DEQUANTIZE: floats to integers and back."""

import numpy as np
import pytest
from quantized_operators import LIMITS, all_integers, evaluated, quantized

from tflgpu.compiler import UnsupportedError
from tflgpu.compiler.ir import constant

STEPS = np.array([-1e9, -2.5, -1.5, -0.5, -0.4, 0, 0.4, 0.5, 1.5, 2.5, 1e9], np.float32)


@pytest.mark.parametrize(
    ("dtype", "zero", "rounded"),
    [
        ("int8", -3, [-2, -2, 0, 0, 0, 0, 0, 2, 2]),
        ("uint8", 128, [-2, -2, 0, 0, 0, 0, 0, 2, 2]),
        ("int16", 0, [-2, -2, 0, 0, 0, 0, 0, 2, 3]),
    ],
)
def test_halves_become_even_and_those_of_int16_beyond_blocks_are_rounded_away_from_zero(
    dtype: str, zero: int, rounded: list[int]
) -> None:
    low, high = LIMITS[dtype]
    x = constant("x", STEPS * np.float32(0.25))
    found = evaluated("QUANTIZE", x, scale=0.25, zero=zero, dtype=dtype)
    assert found.tolist() == [low, *(zero + step for step in rounded), high]


def test_each_channel_has_a_scale_whose_halves_are_rounded_away_from_zero() -> None:
    x = constant("x", np.array([[-0.375, 0.125], [-1.25, 0.75], [1e30, np.nan]], np.float32))
    found = evaluated("QUANTIZE", x, scale=(0.25, 0.5, 1.0), zero=-3)
    assert found.tolist() == [[-5, -2], [-6, -1], [-128, -128]]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_integers_do_not_become_those_of_channels(dtype: str) -> None:
    x = quantized("x", [1, 2, 3], 0.5, dtype=dtype)
    with pytest.raises(UnsupportedError, match="tensor y has a scale for each channel"):
        evaluated("QUANTIZE", x, scale=(0.25, 0.5, 1.0))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_integers_are_multiplied_by_the_scale(dtype: str) -> None:
    zero = 100 if dtype == "uint8" else 0 if dtype == "int16" else -7
    low, high = LIMITS[dtype]
    found = evaluated("DEQUANTIZE", all_integers(0.037, zero, dtype), dtype="float32")
    expected = np.arange(low - zero, high - zero + 1, dtype=np.float32) * np.float32(0.037)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float32


@pytest.mark.parametrize(("scale", "zero"), [(0.05, 3), (0.1, -20), (0.02, 5)])
def test_integers_of_another_scale_are_the_nearest(scale: float, zero: int) -> None:
    """A factor of eight fractional bits may be off where the result is at its limits."""
    found = evaluated("QUANTIZE", all_integers(0.05, 3), scale=scale, zero=zero)
    places = np.clip((np.arange(-128, 128) - 3) * 0.05 / scale + zero, -128, 127)
    assert np.abs(found - places).max() <= 0.5 + 1e-6


def test_scales_whose_shift_is_undefined_are_refused() -> None:
    x = all_integers(2.0**20, 3)
    assert set(evaluated("QUANTIZE", x, scale=2.0**-10, zero=-128).tolist()) == {-128}
    with pytest.raises(UnsupportedError, match="LiteRT shifts by 32 bits, whose result is undef"):
        evaluated("QUANTIZE", x, scale=2.0**-11, zero=-128)


def test_integers_of_32_bits_are_multiplied_by_the_ratio_of_scales() -> None:
    """Beyond what float32 holds, and the least 32-bit integer, which cannot be negated."""
    x = quantized(
        "x", [-(2**31), -16777217, -3, 0, 3, 16777217, 2**31 - 1], 2.0**-20, dtype="int32"
    )
    found = evaluated("QUANTIZE", x, scale=2.0**-13, zero=0, dtype="int16")
    assert found.tolist() == [-32768, -32768, 0, 0, 0, 32767, 32767]
    x = quantized(
        "x", [-(2**31), -16777217, -192, 192, 16777217, 2**31 - 1], 2.0**-20, dtype="int32"
    )
    found = evaluated("QUANTIZE", x, scale=2.0**-13, zero=5, dtype="int8")
    assert found.tolist() == [-128, -128, 3, 7, 127, 127]
    narrow = quantized("x", [-32768, -1, 1, 32767], 2.0**-10, dtype="int16")
    found = evaluated("QUANTIZE", narrow, scale=2.0**-23, dtype="int32")
    assert found.tolist() == [-(2**28), -8192, 8192, 2**28 - 8192]
