"""The comparison with LiteRT: what counts as equal, and that a departure is found and named."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from graphs import model, typed, xi
from graphs.addition import addition
from graphs.interfaces import quantized_classifier
from numpy.typing import NDArray
from paths import DIGITS_MODEL

from tflgpu.compiler import ModelError, Options, pipeline
from tflgpu.compiler.ir import Array
from tflgpu.compiler.litert.child import Output
from tflgpu.compiler.litert.variations import every_tensor, litert_outputs
from tflgpu.compiler.tools import compare as verification
from tflgpu.compiler.tools.compare import verify
from tflgpu.compiler.tools.comparison import compare
from tflgpu.runtime import TensorInfo

TRUE = np.ones((2, 3), np.bool_)


def normal(*shape: int, seed: int = 7) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def feed(inputs: Sequence[TensorInfo]) -> Mapping[str, Array]:
    return {info.name: normal(*info.shape) for info in inputs}


@pytest.mark.parametrize(("largest", "tolerance"), [(0.5, 1e-4), (1.0, 1e-4), (40.0, 4e-3)])
def test_the_tolerance_follows_the_largest_value(largest: float, tolerance: float) -> None:
    expected = np.array([0.25, -largest], np.float64)
    near = compare("y", expected + 0.9 * tolerance, expected)
    assert near.ok and near.tolerance == pytest.approx(tolerance)
    assert near.max_error == pytest.approx(0.9 * tolerance)
    far = compare("y", expected + np.array([0, 1.1 * tolerance]), expected)
    assert not far.ok and far.max_error == pytest.approx(1.1 * tolerance)
    assert str(far) == f"y differs by {1.1 * tolerance:.3g}, but only {tolerance:.3g} is allowed"


def test_equal_special_values_are_equal() -> None:
    values = np.array([1.5, np.nan, np.inf, -np.inf], np.float32)
    result = compare("y", values, values.copy())
    assert result.ok and result.max_error == 0
    assert result.tolerance == pytest.approx(1.5e-4)


@pytest.mark.parametrize(
    ("actual", "expected", "problem"),
    [
        ([1.5, np.nan, 2], [1.5, 2, 2], r"is NaN at \[1\] where LiteRT's is not \(1 of 3"),
        ([1.5, 2, 2], [np.nan, 2, np.nan], r"is not NaN at \[0\] where LiteRT's is \(2 of 3"),
        ([1.5, np.inf], [1.5, 3], r"is infinite at \[1\] where LiteRT's is not"),
        ([np.inf, 3], [-np.inf, 3], r"is infinite at \[0\] where LiteRT's is not"),
        ([1, 3], [-np.inf, 3], r"is not negatively infinite at \[0\] where LiteRT's is"),
    ],
)
def test_other_special_values_depart(
    actual: list[float], expected: list[float], problem: str
) -> None:
    result = compare("y", np.array(actual, np.float32), np.array(expected, np.float32))
    assert not result.ok and result.max_error == np.inf
    assert re.match(problem, result.problem)


def test_other_shapes_depart() -> None:
    result = compare("y", normal(3, 5), normal(1, 3, 5))
    assert not result.ok
    assert str(result) == "y has the shape [3, 5], but LiteRT's is [1, 3, 5]"


def test_integers_are_equal_or_not() -> None:
    expected = np.array([3, -70000, 11], np.int32)
    assert compare("y", expected.copy(), expected).ok
    off = compare("y", expected + np.array([0, 0, 1], np.int32), expected)
    assert not off.ok and (off.max_error, off.tolerance) == (1, 0)


def test_quantized_values_may_be_a_step_off() -> None:
    expected = np.random.default_rng(7).integers(-100, 100, 1009).astype(np.int8)
    one_off = compare("y", expected + np.int8(1), expected, scale=0.1)
    assert one_off.ok and (one_off.max_error, one_off.tolerance) == (1, 3)
    few, many, far = expected.copy(), expected.copy(), expected.copy()
    few[:10] += 3
    many[:11] += 2
    far[0] += 4
    assert compare("y", few, expected, scale=0.1).ok
    assert not compare("y", far, expected, scale=0.1).ok
    strays = compare("y", many, expected, scale=0.1)
    assert strays.problem == "differs by more than one step in 1.1% of its elements"


def test_numbers_of_half_precision_may_be_rounded_otherwise() -> None:
    """LiteRT may compute with them as such, where the processor can."""
    expected = np.array([0.25, -3.71875], np.float16)
    rounded = compare("y", np.array([0.25, -3.720703125], np.float16), expected)
    assert rounded.ok and rounded.tolerance == pytest.approx(3.71875e-2)
    assert not compare("y", np.array([0.25, -3.76], np.float16), expected).ok


def test_complex_numbers_differ_in_either_part() -> None:
    expected = np.array([1 + 2j, -3j], np.complex64)
    assert compare("y", expected.copy(), expected).ok
    off = compare("y", expected + np.array([0, 1j], np.complex64), expected)
    assert not off.ok and off.max_error == 1
    nothing = compare("y", np.array([1 + 2j, complex(0, np.nan)], np.complex64), expected)
    assert nothing.problem == "is NaN at [1, 1] where LiteRT's is not (1 of 4 elements)"


def test_an_operator_that_litert_must_not_run(
    opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It writes beyond its memory, from which the process may die much later.

    This is known before anything is compiled.
    """
    monkeypatch.delattr(pipeline, "build")
    content = model({"y": typed("bool", "MATRIX_DIAG", xi(2, 3, dtype="bool"))}).content
    with pytest.raises(ModelError, match="must not run operator 0 MATRIX_DIAG: LiteRT writes"):
        verify(content, Options(device=opencl_device), lambda infos: {infos[0].name: TRUE})


def test_empty_arrays_are_equal() -> None:
    result = compare("y", np.empty((0, 3), np.float32), np.empty((0, 3), np.float32))
    assert result.ok and result.max_error == 0


def test_equal_outputs_have_no_departure(opencl_device: str) -> None:
    result = verify(DIGITS_MODEL, Options(device=opencl_device), feed)
    (output,) = result.outputs
    assert result.ok and result.departure is None and result.layers == ()
    assert output.name == "probabilities"
    assert output.max_error <= output.tolerance == pytest.approx(1e-4)


def test_layers_agree_in_the_order_of_dispatch(opencl_device: str) -> None:
    options = Options(device=opencl_device, disable_passes=("fuse_depthwise",))
    result = verify(DIGITS_MODEL, options, feed, layers=True)
    assert result.ok
    names = [item.name for item in result.layers]
    expected = ["first", "depthwise_1", "residual", "pool", "depthwise_2", "pointwise_2", "scores"]
    assert [name for name in names if name in expected] == expected
    labels = {item.name: item.label for item in result.layers}
    assert labels["residual"] == "CONV_2D + RELU + ADD -> residual"
    assert all(item.tolerance >= 1e-4 for item in result.layers)


@pytest.mark.parametrize(("dtype", "zero"), [("int8", 3), ("uint8", 128)])
def test_layers_of_quantized_models_agree(opencl_device: str, dtype: str, zero: int) -> None:
    """Kernels hold integers less their zero points; LiteRT does not."""
    made = model({"y": quantized_classifier(dtype, zero)})
    result = verify(made.content, Options(device=opencl_device), lambda _: made.inputs, layers=True)
    assert result.ok and len(result.layers) >= 2
    assert all(item.max_error == 0 for item in result.layers)


def test_several_inputs_and_bytes(opencl_device: str) -> None:
    result = verify(addition(), Options(device=opencl_device), feed)
    assert [item.name for item in result.outputs] == ["c"] and result.ok


def test_another_input_shape(opencl_device: str) -> None:
    options = Options(
        device=opencl_device, input_shapes=(("a", (1, 3, 11, 7)), ("b", (1, 3, 11, 7)))
    )
    shapes = {}

    def wide(inputs: Sequence[TensorInfo]) -> Mapping[str, Array]:
        shapes.update({info.name: info.shape for info in inputs})
        return feed(inputs)

    assert verify(addition(), options, wide).ok
    assert shapes == {"a": (1, 3, 11, 7), "b": (1, 3, 11, 7)}


def bent(*arguments: Any) -> dict[str, Output]:
    """LiteRT with an error in its outputs."""
    found = litert_outputs(*arguments)
    return {name: (info, value + np.float32(0.01)) for name, (info, value) in found.items()}


def bent_from_the_first_pooling(*arguments: Any) -> Mapping[str, tuple[TensorInfo, Array]]:
    every = every_tensor(*arguments)
    exact = ("first", "depthwise_1", "residual")
    return {
        name: (info, value if name in exact else value + np.float32(0.01))
        for name, (info, value) in every.items()
    }


def test_a_departure_is_found(opencl_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "litert_outputs", bent)
    monkeypatch.setattr(verification, "every_tensor", bent_from_the_first_pooling)
    outputs = verify(DIGITS_MODEL, Options(device=opencl_device), feed)
    assert not outputs.ok and outputs.departure is outputs.outputs[0]
    assert outputs.outputs[0].max_error == pytest.approx(0.01, rel=0.01)
    layers = verify(DIGITS_MODEL, Options(device=opencl_device), feed, layers=True)
    assert layers.departure is not None
    assert (layers.departure.name, layers.departure.label) == ("pool", "MAX_POOL_2D -> pool")
