"""Constants in weights.bin."""

import numpy as np

from tflgpu.compiler.codegen.functions.kernel_functions import literal
from tflgpu.compiler.codegen.functions.use import Use
from tflgpu.compiler.emit.dispatches import joined
from tflgpu.compiler.emit.weights import Weights

DENORMAL = np.float32(1e-40)
SMALLEST = np.finfo(np.float32).tiny


def test_equal_arrays_are_stored_once() -> None:
    weights = Weights(16, lambda: None)
    first = weights.add(np.arange(3, dtype=np.float32))
    second = weights.add(np.arange(2, dtype=np.float32))
    assert (first.offset, first.size, second.offset) == (0, 12, 16)
    assert weights.add(np.arange(3, dtype=np.float32)) == first
    assert len(weights.data) == 24


def test_memory_is_given_back_after_each_array() -> None:
    sizes: list[int] = []
    weights = Weights(4, lambda: sizes.append(len(weights.data)))
    weights.add(np.zeros(2, np.float32))
    weights.add(np.ones(3, np.float32))
    assert sizes == [8, 20]


def test_denormal_numbers_become_zeros() -> None:
    weights = Weights(4, lambda: None)
    values = np.array([DENORMAL, -DENORMAL, SMALLEST, -SMALLEST, np.nan, 0, 1], np.float32)
    weights.add(values)
    found = np.frombuffer(bytes(weights.data), np.float32)
    np.testing.assert_array_equal(found, [0, 0, SMALLEST, -SMALLEST, np.nan, 0, 1])
    assert values[0] == DENORMAL


def test_integers_among_constants_keep_their_bits() -> None:
    """Small ones have the bits of denormal numbers."""
    found = joined(
        [np.array([1.5, DENORMAL], np.float32), np.arange(-2, 3, dtype=np.int32)], halved=False
    )
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found[:2].view(np.float32), np.array([1.5, 0], np.float32))
    np.testing.assert_array_equal(found[2:], [-2, -1, 0, 1, 2])


def test_denormal_literals_are_zeros() -> None:
    use = Use(set())
    assert str(literal(float(DENORMAL), use)) == "0.0f"
    assert str(literal(float(-DENORMAL), use)) == "0.0f"
    assert str(literal(float(SMALLEST), use)) == "1.1754944e-38f"
