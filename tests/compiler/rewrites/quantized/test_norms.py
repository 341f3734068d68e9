"""LOG_SOFTMAX and L2_NORMALIZATION of integers, compared with real numbers."""

import numpy as np
import pytest
from quantized_operators import evaluated, quantized

ROWS = np.random.default_rng(4).integers(-128, 128, (37, 19))


@pytest.mark.parametrize("zero", [-128, 3])
def test_l2_norms_are_those_of_real_numbers(zero: int) -> None:
    found = evaluated("L2_NORMALIZATION", quantized("x", ROWS, 0.05, zero), scale=1 / 128)
    centered = (ROWS - zero).astype(np.float64)
    exact = 128 * centered / np.sqrt((centered**2).sum(1, keepdims=True))
    assert np.abs(found - np.clip(exact, -128, 127)).max() <= 0.5 + 1e-6


def test_rows_of_zeros_stay_zeros() -> None:
    rows = quantized("x", np.full((2, 5), 7), 0.05, 7)
    assert not evaluated("L2_NORMALIZATION", rows, scale=1 / 128).any()


def test_log_softmax_is_that_of_real_numbers() -> None:
    found = evaluated("LOG_SOFTMAX", quantized("x", ROWS, 0.05, 3), scale=1 / 16, zero=127)
    real = (ROWS - 3) * np.float64(np.float32(0.05))
    exact = real - np.log(np.exp(real).sum(1, keepdims=True))
    assert np.abs(found - np.clip(16 * exact + 127, -128, 127)).max() <= 0.5 + 1e-3
