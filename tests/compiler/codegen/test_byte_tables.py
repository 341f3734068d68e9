"""Tables of bytes, which processors look up for all lanes of a slice at once."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement import assert_litert, run
from cases.convolutions import window
from cases.quantized_layers import bias, weights
from devices import need_lanes, only_instructions
from graphs import Model, Value, model, quantized, xq

from tflgpu.compiler import Options, pipeline

WIDE = "cpu_avx512_bytes"
ZERO = {"int8": -128, "uint8": 0}


def activations(dtype: str) -> Model:
    """Swish after a layer, also with a second reader of the sigmoid, and functions on their own."""
    image = xq(2, 5, 7, 37, dtype=dtype, zero=ZERO[dtype] + 131)
    filters = weights((23, 1, 1, 37), channels=dtype == "int8", dtype=dtype)

    def sigmoid(value: Value) -> Value:
        return quantized("LOGISTIC", value, dtype=dtype, scale=1 / 256, zero=ZERO[dtype])

    like: dict[str, Any] = {"dtype": dtype, "zero": ZERO[dtype] + 131}
    convolved = quantized(
        "CONV_2D", image, filters, bias(filters, 23), scale=0.3, **like, **window()
    )
    swish = quantized(
        "MUL", convolved, sigmoid(convolved), dtype=dtype, scale=0.1, zero=ZERO[dtype]
    )
    gate = sigmoid(image)
    return model(
        {
            "swish": swish,
            "gated": quantized("MUL", image, gate, scale=0.02, **like),
            "gate": gate,
            "tanh": quantized("TANH", image, dtype=dtype, scale=1 / 128, zero=ZERO[dtype] + 128),
        }
    )


def agrees(made: Model, device: str, folder: Path) -> None:
    compiled = pipeline.build(made.content, Options(device=WIDE, fallback="none"))
    assert any("look_up_bytes(constants" in text for text in compiled.sources.values())
    found = run(compiled, device, folder, made.inputs)
    assert_litert(found, made, 0.0, kernels="XNNPACK")
    assert min(len(np.unique(each)) for each in found.values()) > 50


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("instruction", ["avx512vbmi", ""])
def test_bits_are_those_of_litert(
    dtype: str, instruction: str, driver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_instructions(monkeypatch, instruction)
    agrees(activations(dtype), driver, tmp_path)


def test_bits_on_every_driver(opencl_device: str, tmp_path: Path) -> None:
    """Each compiler has a way of its own to use the instruction."""
    need_lanes(opencl_device, 16)
    agrees(activations("int8"), opencl_device, tmp_path)


def test_kernels_call_functions_that_have_assemblers_text() -> None:
    """PoCL 6 ends the process over a kernel with such a text in it."""
    options = Options(device=WIDE, fallback="none")
    sources = pipeline.build(activations("int8").content, options).sources.values()
    kernels = [text.split("__kernel ")[1] for text in sources if "__asm__(" in text]
    assert len(kernels) > 1
    for kernel in kernels:
        assert not re.search(r"(add_products|look_up_bytes)\(", kernel)


def test_other_tables_are_floats() -> None:
    """Those of processors that do not multiply bytes."""
    content = activations("int8").content
    compiled = pipeline.build(content, Options(device="cpu_avx512", fallback="none"))
    assert not any("look_up_bytes" in text for text in compiled.sources.values())
