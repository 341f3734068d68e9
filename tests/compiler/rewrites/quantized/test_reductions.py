"""Means, sums and extremes of integers, compared with real numbers."""

import numpy as np
import pytest
from quantized_operators import computed_at_run_time, evaluated, lowered, quantized

from tflgpu.compiler.ir import Tensor, constant

RANDOM = np.random.default_rng(7)
IMAGE = RANDOM.integers(-128, 128, (3, 5, 7, 19))
SOURCE = (0.05, 11)


def axes(*values: int) -> Tensor:
    return constant("axes", np.array(values, np.int32))


@pytest.mark.parametrize("over", [(1, 2), (3,), (0, 1, 2, 3)])
@pytest.mark.parametrize(("name", "function"), [("MEAN", np.mean), ("SUM", np.sum)])
def test_sums_are_scaled_and_rounded_once(
    name: str, function: np.ufunc, over: tuple[int, ...]
) -> None:
    scale = 0.03 if name == "MEAN" else 3.0
    found = evaluated(
        *(name, quantized("x", IMAGE, *SOURCE), axes(*over)), scale=scale, zero=-40, keep_dims=True
    )
    exact = function((IMAGE - 11) * 0.05, axis=over, keepdims=True) / scale - 40
    assert np.abs(found - np.clip(exact, -128, 127)).max() <= 0.5 + 1e-3


@pytest.mark.parametrize(("name", "function"), [("REDUCE_MAX", np.max), ("REDUCE_MIN", np.min)])
def test_extremes_stay_as_they_are(name: str, function: np.ufunc) -> None:
    source = quantized("x", IMAGE, *SOURCE)
    found = evaluated(name, source, axes(1, 2), scale=0.05, zero=11, keep_dims=False)
    np.testing.assert_array_equal(found, function(IMAGE, axis=(1, 2)))


def test_extremes_keep_their_integers_whatever_they_stand_for() -> None:
    """LiteRT does not look at the scales."""
    source = quantized("x", IMAGE, *SOURCE)
    found = evaluated("REDUCE_MAX", source, axes(1), scale=0.03, zero=-5, keep_dims=False)
    np.testing.assert_array_equal(found, IMAGE.max(1))


@pytest.mark.parametrize("zero", [-128, 127])
def test_sums_above_2_to_the_24_are_exact(zero: int) -> None:
    """Their integers are rounded to float32 once."""
    values = np.random.default_rng(3).integers(100, 128, (3, 401, 503))
    source = quantized("x", values, 0.05, zero)
    found = evaluated("SUM", source, axes(1, 2), scale=100_000.0, keep_dims=False)
    np.testing.assert_array_equal(
        found, np.rint(((values - zero) * np.float32(0.05)).sum((1, 2)) / 100_000)
    )


def test_sums_of_int16_round_ties_away_from_zero() -> None:
    source = quantized("x", [[-3, 0], [1, 2], [32767, 32767]], 0.05, dtype="int16")
    found = evaluated("SUM", source, axes(1), scale=0.1, dtype="int16", keep_dims=False)
    assert found.tolist() == [-2, 2, 32767]


def test_means_of_int16_of_all_axes_are_scalars() -> None:
    source = computed_at_run_time(quantized("x", [[3, 5], [7, 8]], 0.05, dtype="int16"))
    graph = lowered("MEAN", source, axes(0, 1), scale=0.05, dtype="int16", keep_dims=False)
    assert graph.outputs[0].shape == ()
