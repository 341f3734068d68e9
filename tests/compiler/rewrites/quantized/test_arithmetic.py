"""Operators on every pair of two 8-bit integers, compared with real numbers."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from quantized_operators import LIMITS, computed_at_run_time, evaluated, lowered, quantized

from tflgpu.compiler import UnsupportedError
from tflgpu.compiler.ir import Array, Tensor

FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "ADD": np.add,
    "SUB": np.subtract,
    "MUL": np.multiply,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "SQUARED_DIFFERENCE": lambda a, b: (a - b) ** 2,
}

# Scale and zero point of both operands and of the result.
SCALES = {
    "alike": ((0.05, 3), (0.05, 3), (0.05, 3)),
    "of one order": ((0.05, 3), (0.03, -20), (0.07, 10)),
    "far apart": ((0.5, 0), (0.003, 100), (0.4, -100)),
}


def real(integers: Array, scale: float, zero: int) -> Array:
    return np.asarray((integers.astype(np.float64) - zero) * float(np.float32(scale)))


ALIKE = ("MAXIMUM", "MINIMUM")  # Operators whose operands and result are quantized alike.


@pytest.mark.parametrize(
    ("name", "scales"),
    [(name, scales) for name in FUNCTIONS for scales in SCALES if name not in ALIKE]
    + [(name, "alike") for name in ALIKE],
)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_results_are_the_nearest_integers(name: str, scales: str, dtype: str) -> None:
    low, high = LIMITS[dtype]
    shift = 128 if dtype == "uint8" else 0
    first, second, result = ((scale, zero + shift) for scale, zero in SCALES[scales])
    a, b = np.meshgrid(np.arange(low, high + 1), np.arange(low, high + 1), indexing="ij")
    operands = quantized("a", a, *first, dtype), quantized("b", b, *second, dtype)
    found = evaluated(name, *operands, scale=result[0], zero=result[1], dtype=dtype)
    places = FUNCTIONS[name](real(a, *first), real(b, *second)) / float(np.float32(result[0]))
    distance = np.abs(found - np.clip(places + result[1], low, high))
    # Fixed-point factors have few bits where the scales are far apart.
    assert distance.max() <= 1.0
    assert np.count_nonzero(distance > 0.5001) < 0.01 * distance.size


@pytest.mark.parametrize("activation", ["RELU", "RELU6", "RELU_N1_TO_1"])
def test_an_activation_bounds_the_result(activation: str) -> None:
    bounds = {"RELU": (0, np.inf), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}[activation]
    a, b = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128), indexing="ij")
    operands = quantized("a", a, 0.05, 3), quantized("b", b, 0.05, 3)
    options = {"scale": 0.1, "zero": -5, "fused_activation_function": activation}
    found = real(evaluated("ADD", *operands, **options), 0.1, -5)
    exact = np.clip(real(a, 0.05, 3) + real(b, 0.05, 3), *bounds)
    assert np.abs(found - np.clip(exact, -12.3, 13.2)).max() <= 0.1 / 2 + 1e-6


COMPARISONS = {
    "EQUAL": np.equal,
    "NOT_EQUAL": np.not_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_integers_are_compared_as_what_they_stand_for(name: str) -> None:
    """As long as the numbers differ by more than what 8 bits after the point resolve."""
    a, b = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128), indexing="ij")
    first, second = (0.5, 3), (0.25, -20)
    operands = quantized("a", a, *first), quantized("b", b, *second)
    found = evaluated(name, *operands, dtype="bool")
    np.testing.assert_array_equal(found, COMPARISONS[name](real(a, *first), real(b, *second)))


def test_sums_beyond_16_bits_of_the_result_are_refused() -> None:
    one, other = (quantized(name, [90], scale, -128) for name, scale in (("a", 0.01), ("b", 0.03)))
    assert evaluated("ADD", one, other, scale=64.0) == [0]
    with pytest.raises(UnsupportedError, match="its sums may reach 102255 times the scale of its"):
        evaluated("ADD", one, other, scale=0.0001)


def test_products_beyond_16_bits_of_the_result_are_refused() -> None:
    one, other = (quantized(name, [90], scale, -128) for name, scale in (("a", 0.1), ("b", 0.03)))
    assert evaluated("MUL", one, other, scale=2000.0) == [0]
    assert evaluated("MUL", one, other, scale=1.3e-5) == [127]
    with pytest.raises(UnsupportedError, match="its products may reach 17734345 times the scale"):
        evaluated("MUL", one, other, scale=1.1e-5)


def test_sums_whose_shift_is_undefined_are_refused() -> None:
    one, other = (quantized(name, [90], scale, 0, "int16") for name, scale in (("a", 1), ("b", 3)))
    assert evaluated("SUB", one, other, scale=2.0**-12, dtype="int16") == [-32768]
    with pytest.raises(UnsupportedError, match="LiteRT shifts by -1 bits, whose result is undef"):
        evaluated("SUB", one, other, scale=2.0**-13, dtype="int16")


@pytest.mark.parametrize("dtype", LIMITS)
def test_numbers_less_themselves_are_0_in_any_scale(dtype: str) -> None:
    x = computed_at_run_time(quantized("x", [90, 3, 0], 0.03, 0, dtype))
    zero = 5 if dtype != "int16" else 0
    graph = lowered("SUB", x, x, scale=2.0**-27, zero=zero, dtype=dtype)
    assert not graph.ops
    integers = graph.outputs[0].data
    assert integers is not None and (integers == zero).all()


def test_limits_of_activations_beyond_32_bits_are_refused() -> None:
    image = np.full((1, 2, 2, 1), 9)
    pool = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1}
    limited = {"padding": "VALID", "fused_activation_function": "RELU6"}
    options: dict[str, Any] = {**pool, **limited, "dtype": "int16"}
    x = quantized("x", image, 2.0**-28, dtype="int16")
    assert lowered("MAX_POOL_2D", x, scale=2.0**-28, **options).ops
    x = quantized("x", image, 2.0**-29, dtype="int16")
    with pytest.raises(UnsupportedError, match="limit of its activation, 6, is beyond 32 bits in"):
        lowered("MAX_POOL_2D", x, scale=2.0**-29, **options)


@pytest.mark.parametrize("place", [0, 1])
def test_comparisons_whose_shift_is_undefined_are_refused(place: int) -> None:
    """From scales of 1 on LiteRT compares signs, unless such a shift leaves bits of the numbers."""
    a, b = np.meshgrid(np.arange(-128, 128), np.arange(-128, 128), indexing="ij")
    for scale, undefined in ((60000.0, False), (200000.0, True)):
        scales = [0.5, 0.5]
        scales[place] = scale
        operands = quantized("a", a, scales[0]), quantized("b", b, scales[1])
        if undefined:
            with pytest.raises(UnsupportedError, match="LiteRT shifts by -18 bits"):
                evaluated("LESS", *operands, dtype="bool")
        else:
            integers = [np.asarray(operand.data, np.int64) * 128 for operand in operands]
            integers[place] = np.where(integers[place] < 0, -1, 1)
            found = evaluated("LESS", *operands, dtype="bool")
            np.testing.assert_array_equal(found, np.less(*integers))


@pytest.mark.parametrize("place", [0, 1])
def test_products_with_matrices_whose_rows_have_scales_are_refused(place: int) -> None:
    x = computed_at_run_time(quantized("x", np.zeros((3, 3)), 0.5))
    w = quantized("w", np.ones((3, 3)), (0.1, 0.2, 0.3))
    operands = (w, x) if place == 0 else (x, w)
    with pytest.raises(UnsupportedError, match="tensor w has a scale for each channel") as caught:
        lowered("BATCH_MATMUL", *operands, adj_x=False, adj_y=False)
    (finding,) = caught.value.findings
    assert finding.advice == "quantize it with one scale, or keep the operator in float"


def test_products_of_integers_with_floats_are_refused() -> None:
    w = quantized("w", np.ones((3, 3)), (0.1, 0.2, 0.3))
    x = Tensor("x", (3, 3))
    reason = "its operands are int8 and float32"
    with pytest.raises(UnsupportedError, match=reason) as caught:
        lowered("BATCH_MATMUL", w, x, dtype="float32", adj_x=False, adj_y=False)
    (finding,) = caught.value.findings
    assert finding.advice == "of a product of floats, only the second operand may be quantized"


@pytest.mark.parametrize("name", ["BATCH_MATMUL", "FULLY_CONNECTED"])
@pytest.mark.parametrize(("dtype", "count"), [("int8", 131071), ("int16", 65535)])
def test_sums_of_products_of_bytes_fit_in_32_bits(name: str, dtype: str, count: int) -> None:
    """Those of the bytes of int16, with bytes or with the sums of two pairs of them."""
    for more in (0, 1):
        matrices = (
            computed_at_run_time(quantized("x", np.zeros((1, count + more)), 0.5, dtype=each))
            for each in ("int16", dtype)
        )
        bias = [None] if name == "FULLY_CONNECTED" else []
        declined = pytest.raises(UnsupportedError, match=f"sums of {count + 1} products of bytes")
        with declined if more else nullcontext():
            lowered(name, *matrices, *bias, dtype="int16", adj_x=False, adj_y=True)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("ADD", "int16"),
        ("SUB", "int16"),
        ("DIV", "int16"),
        ("EQUAL", "bool"),
        ("NOT_EQUAL", "bool"),
    ],
)
def test_a_divisor_of_litert_has_a_scale(name: str, dtype: str) -> None:
    operands = (
        quantized("a", [1, 2], 0.5, dtype="int16"),
        quantized("b", [3, 4], 0.0, dtype="int16"),
    )
    with pytest.raises(UnsupportedError, match=f"{name}: the quantization scale of tensor b is 0"):
        lowered(name, *operands, dtype=dtype)


def test_results_have_a_scale() -> None:
    operands = (
        quantized("a", [1, 2], 0.5, dtype="int16"),
        quantized("b", [3, 4], 0.0, dtype="int16"),
    )
    with pytest.raises(UnsupportedError, match="MUL: the quantization scale of tensor y is 0"):
        evaluated("MUL", *operands, scale=0.0, dtype="int16")
