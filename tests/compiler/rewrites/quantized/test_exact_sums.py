"""Sums of products, compared with sums of Python's integers."""

from typing import Any

import numpy as np
import pytest
from quantized_operators import EXACT, computed_at_run_time, evaluated, lowered, quantized

from tflgpu.compiler import UnsupportedError
from tflgpu.compiler.ir import Array, Op, Tensor

ADD = "tflgpu.add_exact"
LAYER = "FULLY_CONNECTED"
CONV: dict[str, Any] = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
IMAGE_ZERO = -128  # The zero point of images: with it an int8 reaches as far as 255.


def biases(*values: int) -> Tensor:
    return quantized("b", values, dtype="int32")


def requantized(sums: Array, scale: float) -> Array:
    """Sums as int8, rounded to float32, scaled, and rounded to the nearest even integer."""
    scaled = np.rint(sums.astype(np.float32) * np.float32(scale))
    return np.asarray(np.clip(scaled, -128, 127), np.int8)


def layer(inputs: int, bias: int, largest: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, weights and biases of two outputs: random, or with the largest products there can be,
    which only the first output has."""
    random = np.random.default_rng(inputs)
    rows, weights = random.integers(-128, 128, (3, inputs)), random.integers(-127, 128, (2, inputs))
    if largest:
        rows, weights = np.full((3, inputs), 127), np.array([[127], [-64]]).repeat(inputs, 1)
    return (
        quantized("x", rows, 0.5, IMAGE_ZERO),
        quantized("w", weights, 0.25),
        biases(bias, -bias),
    )


def sums_of(rows: Tensor, weights: Tensor, bias: Tensor) -> Array:
    assert rows.data is not None and weights.data is not None and bias.data is not None
    centered = rows.data.astype(np.int64) - IMAGE_ZERO
    return np.asarray(centered @ weights.data.astype(np.int64).T + bias.data)


# By situation: input channels, bias, and the operators.
CASES = {
    "few": (37, 100, [LAYER]),
    "as many as are exact": (518, 0, [LAYER]),
    "two parts": (700, 0, ["SLICE", LAYER, "SLICE", LAYER, ADD]),
    "two parts and a bias": (
        700,
        -5,
        ["SLICE", LAYER, "CAST", "SLICE", LAYER, "CAST", "ADD", "ADD", "CAST"],
    ),
    "a large bias": (37, (1 << 25) + 3, [LAYER, ADD]),
    "several parts": (
        1600,
        12345,
        ["SLICE", LAYER, "CAST"] * 2
        + ["ADD"]
        + ["SLICE", LAYER, "CAST", "ADD"] * 2
        + ["ADD", "CAST"],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("largest", [False, True], ids=["random", "largest"])
def test_sums_are_rounded_once(name: str, largest: bool) -> None:
    inputs, bias, _ = CASES[name]
    operands = layer(inputs, bias, largest)
    sums = sums_of(*operands)
    scale = 0.5 * 0.25 / 2.0**20
    found = evaluated(LAYER, *operands, scale=2.0**20)
    np.testing.assert_array_equal(found, requantized(sums, scale))


@pytest.mark.parametrize("name", CASES)
def test_the_last_bits_of_large_sums_are_right(name: str) -> None:
    """A bias brings the sum of large products back to a few integers."""
    inputs, _, _ = CASES[name]
    rows, weights, none = layer(inputs, 0, largest=True)
    first, second = sums_of(rows, weights, none)[0].tolist()
    for distance in (-3, 0, 5):
        bias = biases(distance - first, 2 * distance - second)
        found = evaluated(LAYER, rows, weights, bias, scale=0.125)
        np.testing.assert_array_equal(found, [[distance, 2 * distance]] * 3)


@pytest.mark.parametrize("name", CASES)
def test_parts_are_as_large_as_is_exact(name: str) -> None:
    inputs, bias, operators = CASES[name]
    rows, weights, added = layer(inputs, bias, largest=True)
    graph = lowered(LAYER, computed_at_run_time(rows), weights, added, scale=2.0**20)
    found = [op.name for op in graph.ops if op.name in {*operators, LAYER}]
    assert sorted(found) == sorted(operators)
    layers = [op for op in graph.ops if op.name == LAYER]
    assert sum(op.operand(1).shape[1] for op in layers) == inputs
    for op in layers:
        assert most(op) <= EXACT


def most(op: Op) -> float:
    """The largest sum that a layer can have."""
    products = np.abs(op.constant(1)).sum(1, dtype=np.float64) * 255
    return float((products if op.input(2) is None else products + np.abs(op.constant(2))).max())


def test_sums_wrap_like_32_bit_integers() -> None:
    """Where LiteRT's accumulators overflow."""
    operands = layer(1600, (1 << 31) - 1, largest=True)
    sums = sums_of(*operands)
    assert sums.max() >= 1 << 31
    wrapped = sums.astype(np.int32)
    found = evaluated(LAYER, *operands, scale=2.0**24)
    np.testing.assert_array_equal(found, requantized(wrapped, 0.5 * 0.25 / 2.0**24))


@pytest.mark.parametrize("channels", [19, 63])
def test_a_convolution_is_divided_along_its_input_channels(channels: int) -> None:
    random = np.random.default_rng(5)
    image = quantized("x", random.integers(-128, 128, (1, 4, 5, channels)), 0.5, IMAGE_ZERO)
    weights = quantized("w", random.integers(-127, 128, (7, 3, 3, channels)), 0.25)
    bias = biases(*random.integers(-999, 999, 7).tolist())
    assert image.data is not None and weights.data is not None and bias.data is not None
    centered = image.data.astype(np.int64) - IMAGE_ZERO
    sums = np.zeros((1, 2, 3, 7), np.int64) + bias.data
    for row in range(3):
        for column in range(3):
            seen = centered[:, row : row + 2, column : column + 3]
            sums += seen @ weights.data[:, row, column].astype(np.int64).T
    found = evaluated("CONV_2D", image, weights, bias, scale=2.0**12, **CONV)
    np.testing.assert_array_equal(found, requantized(sums, 0.125 / 2.0**12))
    largest = quantized("w", np.full((7, 3, 3, channels), 127), 0.25)
    graph = lowered("CONV_2D", computed_at_run_time(image), largest, bias, scale=2.0**12, **CONV)
    parts = [op for op in graph.ops if op.name == "CONV_2D"]
    assert len(parts) == -(-channels * 9 * 127 * 255 // EXACT)


def test_groups_that_are_too_large_are_refused() -> None:
    image = quantized("x", np.zeros((1, 3, 3, 128)), 0.5, IMAGE_ZERO)
    weights = quantized("w", np.full((2, 3, 3, 64), 127), 0.25)
    with pytest.raises(UnsupportedError, match="grouped channels may be too large to be exact"):
        lowered("CONV_2D", computed_at_run_time(image), weights, None, **CONV)
