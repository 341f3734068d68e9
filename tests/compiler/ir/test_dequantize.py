"""Dequantization of constants, by channel and by block."""

import numpy as np
import pytest

from tflgpu.compiler import ModelError
from tflgpu.compiler.ir import Blocks, Quantization, Tensor, constant
from tflgpu.compiler.ir.tensor import dequantized

LEVELS = np.arange(-4, 4, dtype=np.int8).reshape(2, 4)


def test_scales_of_a_channel_and_of_all() -> None:
    whole = Tensor("w", (2, 4), "int8", LEVELS, Quantization((0.5,), (-1,)))
    np.testing.assert_array_equal(dequantized(whole), (LEVELS + 1) * np.float32(0.5))
    rows = Tensor("w", (2, 4), "int8", LEVELS, Quantization((0.5, 2.0), (0, 1), 0))
    wanted = [[-2, -1.5, -1, -0.5], [-2, 0, 2, 4]]
    np.testing.assert_array_equal(dequantized(rows), np.array(wanted, np.float32))
    assert dequantized(Tensor("w", (2, 4), "int8", LEVELS)) is None


def test_blocks_have_scales_and_zero_points() -> None:
    scales = constant("scales", np.array([[1, 2], [3, 4]], np.float16))
    zeros = constant("zeros", np.array([[0, 1], [-1, 0]], np.int8))
    wanted = np.array([[-4, -3, -6, -4], [3, 6, 8, 12]], np.float32)
    tensor = Tensor("w", (2, 4), "int4", LEVELS, blocks=Blocks(2, scales, zeros))
    np.testing.assert_array_equal(dequantized(tensor), wanted)
    with pytest.raises(
        ModelError, match=r"w \[2, 4\] in blocks of 4 does not match scales \[2, 2\]"
    ):
        dequantized(Tensor("w", (2, 4), "int4", LEVELS, blocks=Blocks(4, scales, zeros)))
