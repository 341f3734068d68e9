"""Weights of whole numbers are stored in bytes, or in halves of them, and read as such."""

import pytest
from cases.quantized_layers import weights
from cases.quantized_weights import in_blocks
from graphs import call, model, x

from tflgpu.compiler import Options, build
from tflgpu.compiler.options import Precision, TargetName

ROWS, INPUTS, OUTPUTS = (1, 5, 61), 160, 192
BESIDE = 5 * OUTPUTS  # Most numbers for each output, such as scales, in words.


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dtype", ["int8", "int4", "blocks"])
@pytest.mark.parametrize(
    ("target", "device", "precision"),
    [
        ("opencl", "cpu_avx512", "f32"),
        ("opencl", "cpu_avx512_bytes", "f32"),
        ("opencl", "nvidia", "f32"),
        ("glsl", "mali", "f32"),
        ("wgsl", "gpu", "f32"),
        ("opencl", "adreno", "f16"),
        ("glsl", "mali", "f32_f16"),
    ],
)
def test_they_take_as_many_bits_each(
    target: TargetName, device: str, precision: Precision, dtype: str, rows: int
) -> None:
    bits = {"int8": 8, "int4": 4, "blocks": 5}[dtype]
    found = stored(rows, dtype, target, device, precision)
    assert found < INPUTS * OUTPUTS * bits // 8 + 4 * BESIDE


def stored(rows: int, dtype: str, target: TargetName, device: str, precision: Precision) -> int:
    """The bytes of weights of a layer of floats that are quantized while it runs."""
    shape = OUTPUTS, INPUTS
    layer = in_blocks(shape, 32) if dtype == "blocks" else weights(shape, dtype=dtype)
    content = model({"y": call("FULLY_CONNECTED", x(rows, INPUTS), layer, None)}).content
    options = Options(target=target, device=device, precision=precision)
    return len(build(content, options).weights)
