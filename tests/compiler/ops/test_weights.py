"""Weights of whole numbers are stored in bytes, or in halves of them, and read as such."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cases.quantized_layers import weights
from cases.quantized_weights import in_blocks
from devices import own_profile
from graphs import call, model, x

from tflgpu.compiler import Options, build
from tflgpu.compiler.ir import constant
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


@pytest.mark.parametrize(
    ("target", "device", "factor", "bytes_each"),
    [
        ("opencl", "gpu", 1.0, 2),
        ("glsl", "mali", 1.0, 2),
        ("wgsl", "webgpu", 1.0, 2),
        ("opencl", "cpu_avx512", 1.0, 4),  # Processors would have to convert them.
        ("opencl", "gpu", 2.0**-8, 4),  # Some GPUs take numbers below the normal ones for zeros.
        ("opencl", "few buffers", 1.0, 4),
    ],
)
@pytest.mark.parametrize("rows", [1, 61])
def test_scales_of_blocks_in_half_precision(
    target: TargetName, device: str, factor: float, bytes_each: int, rows: int, tmp_path: Path
) -> None:
    if device == "few buffers":
        device = own_profile(tmp_path, "gpu", max_arguments=7)
    layer = in_blocks((OUTPUTS, INPUTS), 32)
    assert layer.blocks is not None
    scales = layer.blocks.scales.values * np.float16(factor)
    blocks = replace(layer.blocks, scales=constant("scales", scales))
    value = call("FULLY_CONNECTED", x(rows, INPUTS), replace(layer, blocks=blocks), None)
    options = Options(target=target, device=device, fallback="none")
    found = len(build(model({"y": value}).content, options).weights)
    least = OUTPUTS * INPUTS // 2 + OUTPUTS * INPUTS // 32 * bytes_each
    assert least <= found < least + 2 * 4 * OUTPUTS + 1024
