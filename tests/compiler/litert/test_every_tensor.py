"""LiteRT's every tensor: named, quantized as the model's own, of signatures and without handles."""

import numpy as np
import pytest
from graphs import model
from graphs.interfaces import quantized_classifier
from graphs.signatures import SHAPE, two_signatures
from paths import DIGITS_MODEL

from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.litert.variations import every_tensor


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
