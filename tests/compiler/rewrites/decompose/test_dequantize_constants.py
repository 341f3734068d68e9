"""Which quantized constants become floats."""

import numpy as np
import pytest
from graphs.operators import graph_of

from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Op, Quantization, Tensor
from tflgpu.compiler.rewrites.decompose.dequantize_constants import dequantize_constants
from tflgpu.compiler.target import Target

LEVELS = np.arange(-4, 4, dtype=np.int8).reshape(2, 4)


@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_weights_become_floats_and_axes_stay(dtype: str) -> None:
    quantized = Quantization((0.5,), (0,))
    weights = Tensor("w", (2, 4), "int8", LEVELS, quantized)
    axes = Tensor("axes", (1,), dtype, np.array([1], dtype), quantized)
    x, rows, y = Tensor("x", (3, 4)), Tensor("rows", (3, 2)), Tensor("y", (3,))
    product = Op("FULLY_CONNECTED", (x, weights), (rows,))
    total = Op("SUM", (rows, axes), (y,), {"keep_dims": False})
    events = dequantize_constants(graph_of(product, total), Target(profile("cpu")))
    assert [event.operators for event in events] == [("0 FULLY_CONNECTED",)]
    np.testing.assert_array_equal(product.constant(1), LEVELS * np.float32(0.5))
    assert total.operand(1) is axes
