"""Products that are rounded before a sum, only in the kernels that need it; and before a factor."""

from pathlib import Path

import numpy as np
import pytest
from agreement import assert_litert, run
from cases.convolutions import window
from cases.quantized_layers import weights
from devices import Attached, Way, ways
from graphs import call, known, model, quantized, typed, w, x, xq

from tflgpu.compiler import Options, pipeline

HYBRID = call("DEPTHWISE_CONV_2D", x(1, 9, 7, 5), weights((1, 3, 3, 5), 3), w(5), **window())
PLAIN = call("CONV_2D", x(1, 19, 17, 3), w(8, 3, 3, 3), w(8), **window())
MADE = model({"a": HYBRID, "b": PLAIN})


@pytest.mark.shared
@pytest.mark.parametrize("way", [way for way in ways() if way.target == "opencl"], ids=str)
def test_sums_of_floats_are_those_of_xnnpack_behind_such_a_kernel(way: Way, tmp_path: Path) -> None:
    """Which adds up the taps of a window in order, each with one instruction."""
    compiled = pipeline.build(MADE.content, Options(device=way.profile, fallback="none"))
    found = run(compiled, way.device, tmp_path, MADE.inputs)
    assert_litert(found, MADE, 0.0, kernels="XNNPACK")


def test_products_of_several_factors_are_multiplied_in_order(
    attached: Attached, tmp_path: Path
) -> None:
    """Drivers of OpenGL and Vulkan multiply constants first, which decides ties otherwise."""
    stored = xq(256, scale=0.05, zero=5)
    numbers = typed("float32", "DEQUANTIZE", stored)
    byte = xq(1024, dtype="uint8", scale=0.03, zero=128)
    scaled = call("MUL", numbers, known(np.float32(0.75)))
    halves = call("MUL", typed("float32", "CAST", byte), known(np.float32(0.03)))
    made = model(
        {
            "rescaled": quantized("QUANTIZE", numbers, scale=0.1, zero=5),
            "scaled": quantized("QUANTIZE", scaled, scale=0.02),
            "product": quantized("MUL", byte, byte, dtype="uint8", scale=0.1, zero=23),
            "halves": quantized("QUANTIZE", halves, scale=0.02, zero=-3),
            "shorts": quantized("QUANTIZE", halves, dtype="int16", scale=0.02),
        }
    )
    profile = {"opencl": "cpu", "glsl": "gpu", "wgsl": "webgpu"}[attached.target]
    options = Options(target=attached.target, device=profile, fallback="none")
    found = run(pipeline.build(made.content, options), attached.device, tmp_path, made.inputs)
    assert_litert(found, made, 0.0, kernels="XNNPACK")
