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
    ("target", "device"),
    [
        ("opencl", "cpu_avx512"),
        ("opencl", "cpu_avx512_bytes"),
        ("opencl", "nvidia"),
        ("glsl", "mali"),
        ("wgsl", "gpu"),
    ],
)
def test_they_take_as_many_bits_each(
    target: TargetName, device: str, dtype: str, rows: int
) -> None:
    bits = {"int8": 8, "int4": 4, "blocks": 5}[dtype]
    assert stored(rows, dtype, target, device) < INPUTS * OUTPUTS * bits // 8 + 4 * BESIDE


def test_half_precision_stays_half() -> None:
    assert stored(5, "int8", "opencl", "nvidia", "f16") > 1.9 * INPUTS * OUTPUTS


def stored(
    rows: int, dtype: str, target: TargetName, device: str, precision: Precision = "f32"
) -> int:
    """The bytes of weights of a layer of floats that are quantized while it runs."""
    shape = OUTPUTS, INPUTS
    layer = in_blocks(shape, 32) if dtype == "blocks" else weights(shape, dtype=dtype)
    content = model({"y": call("FULLY_CONNECTED", x(rows, INPUTS), layer, None)}).content
    options = Options(target=target, device=device, precision=precision)
    return len(build(content, options).weights)
