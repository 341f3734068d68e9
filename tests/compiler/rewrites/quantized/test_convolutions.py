"""Convolutions and fully connected layers with a scale per output channel."""

import contextlib
from typing import Any

import graphs
import numpy as np
import pytest
from graphs import call, known, model
from quantized_operators import EXACT, evaluated, quantized

from tflgpu.compiler import Options, UnsupportedError, pipeline
from tflgpu.compiler.ir import Array, Quantization, Tensor

RANDOM = np.random.default_rng(13)
SCALES = [0.01, 0.02, 0.005]
IMAGE = RANDOM.integers(-128, 128, (2, 5, 4, 6))
WEIGHTS = RANDOM.integers(-127, 128, (3, 2, 2, 6))
BIAS = RANDOM.integers(-9999, 9999, 3)
WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1}


def bias() -> Tensor:
    return quantized("b", BIAS, [0.05 * scale for scale in SCALES], dtype="int32")


def real_sums(zero: int) -> Array:
    """The convolution of real numbers, as the scales give them."""
    image = IMAGE - zero
    sums = np.zeros((2, 4, 3, 3)) + BIAS
    for y, x in np.ndindex(2, 2):
        sums = sums + image[:, y : y + 4, x : x + 3] @ WEIGHTS[:, y, x].T
    return np.asarray(sums * 0.05 * np.array(SCALES))


@pytest.mark.parametrize("zero", [0, -128, 7])
def test_each_channel_has_a_scale(zero: int) -> None:
    operands = quantized("x", IMAGE, 0.05, zero), quantized("w", WEIGHTS, SCALES), bias()
    found = evaluated("CONV_2D", *operands, scale=0.4, zero=-9, **WINDOW)
    places = np.clip(real_sums(zero) / 0.4 - 9, -128, 127)
    assert np.abs(found - places).max() <= 0.5 + 1e-3


def test_an_activation_bounds_the_integers() -> None:
    operands = quantized("x", IMAGE, 0.05, 7), quantized("w", WEIGHTS, SCALES), bias()
    attrs = {**WINDOW, "fused_activation_function": "RELU6"}
    found = evaluated("CONV_2D", *operands, scale=0.4, zero=-9, **attrs)
    places = np.clip(real_sums(7), 0, 6) / 0.4 - 9
    assert np.abs(found - places).max() <= 0.5 + 1e-3
    assert (found.min(), found.max()) == (-9, 6)


def test_a_zero_point_per_channel_is_refused() -> None:
    weights = quantized("w", WEIGHTS, SCALES)
    weights.quantization = Quantization(tuple(SCALES), (0, 1, 2))
    with pytest.raises(UnsupportedError, match="tensor w has a zero point for each channel"):
        evaluated("CONV_2D", quantized("x", IMAGE, 0.05), weights, bias(), **WINDOW)


@pytest.mark.parametrize("operator", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_a_zero_point_of_weights_is_refused(operator: str) -> None:
    weights = known(np.ones((1, 2, 2, 6), np.int8), Quantization((0.5,), (5,)))
    attrs: dict[str, Any] = {**WINDOW, "depth_multiplier": 1} if operator != "CONV_2D" else WINDOW
    value = graphs.quantized(operator, graphs.xq(1, 5, 4, 6), weights, None, **attrs)
    with pytest.raises(UnsupportedError, match="its weights have a zero point, which LiteRT"):
        pipeline.build(model({"y": value}).content, Options(device="gpu", fallback="none"))


def test_unsigned_weights_of_floats_are_declined() -> None:
    """LiteRT takes their bytes for int8, and quantizes rows in another way."""
    weights = known(np.arange(10, dtype=np.uint8).reshape(2, 5), Quantization((0.5,), (121,)))
    value = call("FULLY_CONNECTED", graphs.x(3, 5), weights, None)
    with pytest.raises(UnsupportedError, match="0 FULLY_CONNECTED: its weights are uint8"):
        pipeline.build(model({"y": value}).content, Options(device="gpu", fallback="none"))


@pytest.mark.parametrize(
    ("operator", "dtype", "shape"),
    [("FULLY_CONNECTED", "uint8", (2, 6)), ("DEPTHWISE_CONV_2D", "int16", (1, 2, 2, 6))],
)
def test_packed_weights_that_litert_does_not_unpack_are_declined(
    operator: str, dtype: str, shape: tuple[int, ...]
) -> None:
    weights = known(np.ones(shape, np.int8), Quantization((0.5,), (0,)), "int4")
    sizes = (3, 6) if operator == "FULLY_CONNECTED" else (1, 5, 4, 6)
    attrs: dict[str, Any] = {}
    if operator == "DEPTHWISE_CONV_2D":
        attrs = {**WINDOW, "depth_multiplier": 1}
    value = graphs.quantized(
        operator, graphs.xq(*sizes, dtype=dtype), weights, None, dtype=dtype, **attrs
    )
    with pytest.raises(UnsupportedError, match="int4, which LiteRT does not unpack beside"):
        pipeline.build(model({"y": value}).content, Options(device="gpu", fallback="none"))


@pytest.mark.parametrize("scales", [None, Quantization((0.025,), (0,))])
@pytest.mark.parametrize("side", [22, 23])
def test_sums_of_one_channel_have_to_be_exact(side: int, scales: Quantization | None) -> None:
    """They have no parts. LiteRT rounds as XNNPACK does not where the bias has no scale."""
    weights = known(np.full((2, side, side, 2), 127, np.int8), Quantization((0.5,), (0,)))
    image, added = graphs.xq(1, 30, 30, 2, zero=-128), known(np.zeros(2, np.int32), scales)
    attrs: dict[str, Any] = WINDOW
    value = graphs.quantized("CONV_2D", image, weights, added, **attrs)
    options = Options(device="gpu", fallback="none")
    sums = side * side * 127 * 255
    declined = pytest.raises(UnsupportedError, match=f"its sums may reach {sums}, but float32")
    with declined if sums > EXACT else contextlib.nullcontext():
        pipeline.build(model({"y": value}).content, options)


@pytest.mark.parametrize(
    ("operator", "dtype", "own"),
    [
        ("FULLY_CONNECTED", "int8", "uint8"),
        ("FULLY_CONNECTED", "uint8", "int8"),
        ("FULLY_CONNECTED", "int16", "uint8"),
        ("CONV_2D", "uint8", "int8"),
        ("CONV_2D", "int16", "int16"),
    ],
)
def test_weights_whose_bytes_litert_takes_for_another_type_are_declined(
    operator: str, dtype: str, own: str
) -> None:
    layer = operator == "FULLY_CONNECTED"
    weights = known(np.ones((2, 6) if layer else (2, 2, 2, 6), own), Quantization((0.5,), (0,)))
    image = graphs.xq(*((3, 6) if layer else (1, 5, 4, 6)), dtype=dtype)
    attrs: dict[str, Any] = {} if layer else WINDOW
    value = graphs.quantized(operator, image, weights, None, dtype=dtype, **attrs)
    with pytest.raises(UnsupportedError, match=f"its weights are {own}, whose bytes LiteRT takes"):
        pipeline.build(model({"y": value}).content, Options(device="gpu", fallback="none"))


@pytest.mark.parametrize(
    ("dtype", "result", "refused"),
    [
        *(("int8", other, True) for other in ("uint8", "int16")),
        *(("int16", other, True) for other in ("int8", "uint8")),
        ("uint8", "int8", True),
        ("uint8", "int16", False),
    ],
)
def test_results_of_other_types(dtype: str, result: str, refused: bool) -> None:
    """LiteRT takes the operands' bytes for the result's type, but for uint8 beside int16."""
    own = known(
        np.ones((2, 6), "uint8" if dtype == "uint8" else "int8"), Quantization((0.5,), (0,))
    )
    rows = graphs.xq(3, 6, dtype=dtype)
    layers = [
        graphs.quantized("FULLY_CONNECTED", rows, own, None, dtype=result),
        graphs.quantized("FULLY_CONNECTED", rows, graphs.xq(2, 6, dtype=dtype), None, dtype=result),
    ]
    for value in layers:
        declined = pytest.raises(UnsupportedError, match=f"its result is {result}, beside which")
        with declined if refused else contextlib.nullcontext():
            pipeline.build(model({"y": value}).content, Options(device="gpu", fallback="none"))
