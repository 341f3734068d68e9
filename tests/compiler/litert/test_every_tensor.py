"""LiteRT's every tensor: named, quantized as the model's own, of signatures and without handles."""

from typing import get_args

import numpy as np
import pytest
from graphs import model
from graphs.interfaces import quantized_classifier
from graphs.operators import file_of
from graphs.signatures import SHAPE, two_signatures
from paths import DIGITS_MODEL

from tflgpu.compiler.ir import Op, Tensor, constant
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.litert.variations import every_tensor
from tflgpu.runtime.litert.module import KernelSet


def test_tensors_between_operators_are_there() -> None:
    image = np.random.default_rng(7).standard_normal((1, 8, 8, 1)).astype(np.float32)
    every = every_tensor(DIGITS_MODEL, "", {"image": image})
    (_, pool), (_, residual) = every["pool"], every["residual"]
    np.testing.assert_array_equal(pool, residual.reshape(1, 4, 2, 4, 2, 16).max((2, 4)))
    (expected,) = Reference(DIGITS_MODEL, kernels="XNNPACK").run([image])
    np.testing.assert_array_equal(every["probabilities"][1], expected)


def test_quantized_tensors_come_with_their_quantization() -> None:
    made = model({"y": quantized_classifier("int8", 3)})
    every = every_tensor(made.content, "", made.inputs)
    between = [info for info, _ in every.values() if info.scale == np.float32(0.1)]
    assert [(info.dtype, info.zero_point) for info in between] == [("int8", 3)] * 2
    (expected,) = Reference(made.content, kernels="XNNPACK").run(list(made.inputs.values()))
    np.testing.assert_array_equal(every["y"][1], expected)


def test_a_signature_has_its_own_tensors() -> None:
    left, right = np.full(SHAPE, 0.5, np.float32), np.full(SHAPE, 0.25, np.float32)
    every = every_tensor(two_signatures(), "near", {"left": left, "right": right})
    values = [float(value.max()) for _, value in every.values()]
    assert values == pytest.approx([0.25, np.exp(0.25)])


def test_constants_that_xnnpack_unpacks_are_left_out() -> None:
    """It never writes them; LiteRT's own kernels do."""
    x, w, y = Tensor("x", (3, 5)), Tensor("w", (7, 5)), Tensor("y", (3, 7))
    half = constant("half", np.full((7, 5), 0.5, np.float16))
    attrs = {"fused_activation_function": "NONE", "keep_num_dims": False}
    layer = Op("FULLY_CONNECTED", (x, w, None), (y,), attrs)
    content = file_of(Op("DEQUANTIZE", (half,), (w,)), layer)
    inputs = {"x": np.ones((3, 5), np.float32)}
    found = {kernels: every_tensor(content, "", inputs, kernels) for kernels in get_args(KernelSet)}
    assert list(found["XNNPACK"]) == ["y"]
    for kernels in ("built-in", "reference"):
        assert (found[kernels]["w"][1] == 0.5).all()
    assert all((each["y"][1] == 2.5).all() for each in found.values())
