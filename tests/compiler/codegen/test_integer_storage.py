"""Tensors stored as integers: the numbers are those stored as floats, in every language."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from agreement import assert_litert, run
from cases.convolutions import window
from cases.quantized_layers import bias, weights
from devices import best_opencl_device, need_programs, own_profile
from graphs import Model, Value, call, ints, model, quantized, table, w, x, xq

import tflgpu
from tflgpu.compiler import CompiledModel, Options, pipeline
from tflgpu.compiler.accessors import Buffer, Sliced
from tflgpu.compiler.accessors.codecs import BYTES
from tflgpu.compiler.ir import Array
from tflgpu.compiler.keep_f32 import relative_error
from tflgpu.compiler.language.expression import Name
from tflgpu.compiler.language.language import OPENCL
from tflgpu.compiler.language.primary import Call
from tflgpu.compiler.language.statement import Evaluate
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.options import Precision, TargetName
from tflgpu.runtime.plan.storage import storage_of

POOL: dict[str, Any] = {
    "padding": "SAME",
    "stride_h": 1,
    "stride_w": 1,
    "filter_height": 3,
    "filter_width": 3,
}
AROUND = table((0, 0), (1, 1), (2, 2), (0, 0))


def network(dtype: str, zero: int) -> Model:
    """Convolutions, of which two are joined in place; zero padding; a table; last lanes unused.

    A transpose of rank 5 is computed row-major.
    """
    like: dict[str, Any] = {"dtype": dtype, "zero": zero}
    of_weights, of_bias = ("int8", "int64") if dtype == "int16" else (dtype, "int32")
    step = 1 / 32768 if dtype == "int16" else 1 / 128

    def conv(image: Value, inputs: int, outputs: int) -> Value:
        filters = weights((outputs, 3, 3, inputs), channels=dtype != "uint8", dtype=of_weights)
        biases = bias(filters, outputs, of_bias)
        return quantized("CONV_2D", image, filters, biases, **like, scale=0.4, **window())

    image = xq(2, 9, 7, 19, **like, scale=0.05)
    joined = quantized(
        "CONCATENATION", conv(image, 19, 8), conv(image, 19, 13), **like, scale=0.4, axis=3
    )
    padded = quantized("PAD", joined, AROUND, **like, scale=0.4)
    pooled = quantized("MAX_POOL_2D", padded, **like, scale=0.4, **POOL)
    curve = quantized("TANH", pooled, dtype=dtype, scale=step, zero=128 * (dtype == "uint8"))
    total = quantized("ADD", pooled, curve, **like, scale=0.5)
    groups = quantized("RESHAPE", total, ints(2, 11, 11, 3, 7), **like, scale=0.5)
    turned = quantized("TRANSPOSE", groups, ints(0, 2, 1, 4, 3), **like, scale=0.5)
    last = conv(quantized("RESHAPE", turned, ints(2, 11, 11, 21), **like, scale=0.5), 21, 5)
    return model({"integers": last, "floats": call("DEQUANTIZE", total)})


def built(made: Model, device: str, *without: str, **options: Any) -> CompiledModel:
    return pipeline.build(
        made.content, Options(device=device, fallback="none", disable_passes=without, **options)
    )


@pytest.mark.parametrize(("dtype", "zero"), [("int8", -7), ("uint8", 131), ("int16", 0)])
@pytest.mark.parametrize(
    ("target", "device", "precision"),
    [
        ("opencl", "gpu", "f32"),
        ("opencl", "adreno", "f32"),
        ("opencl", "wide", "f32"),
        ("glsl", "gpu", "f32"),
        ("opencl", "gpu", "f16"),
        ("glsl", "mali", "f32_f16"),
    ],
)
def test_integers_hold_the_same_numbers_as_floats(
    target: TargetName,
    device: str,
    precision: Precision,
    dtype: str,
    zero: int,
    driver: str,
    tmp_path: Path,
) -> None:
    if device == "wide":
        device = own_profile(tmp_path, "cpu_avx512", byte_storage=True)
    compiled = built(network(dtype, zero), device, target=target, precision=precision, **KEPT)
    narrow = [tensor for tensor in compiled.plan.tensors if tensor.stored]
    assert all(tensor.stored in ("uint8", "uint16", "int8") for tensor in narrow)
    assert {bool(tensor.lanes) for tensor in narrow} == {True, False}
    assert any(tensor.stored == "uint16" for tensor in narrow) == (dtype == "int16")
    found = kept(compiled, network(dtype, zero), driver, tmp_path)
    expected = floats(dtype, zero, best_opencl_device())
    shared = found.keys() & expected.keys()
    assert len(shared) >= 3
    for name in shared:
        np.testing.assert_array_equal(found[name], expected[name])


KEPT: dict[str, Any] = {"keep_intermediates": True}


@cache
def floats(dtype: str, zero: int, device: str) -> dict[str, Array]:
    """The inner tensors of a network where all are stored as floats."""
    compiled = built(network(dtype, zero), "gpu", "store_integers", **KEPT)
    assert not any(tensor.stored for tensor in compiled.plan.tensors)
    with TemporaryDirectory() as folder:
        return kept(compiled, network(dtype, zero), device, Path(folder))


def kept(compiled: CompiledModel, made: Model, device: str, folder: Path) -> dict[str, Array]:
    """The inner tensors that are floats in the model; the outputs must be LiteRT's."""
    with tflgpu.load(pipeline.write(compiled, folder), device=device) as session:
        session.poison()
        assert_litert(session.run(made.inputs), made, 0.0, kernels="XNNPACK")
        inner = (tensor.name for tensor in session.plan.tensors if tensor.dtype == "float32")
        return {name: session.read(name) for name in inner}


def test_half_precision_is_for_what_is_not_quantized(opencl_device: str, tmp_path: Path) -> None:
    """Of a model of both, floats are halved, and integers have LiteRT's bits."""

    def conv(image: Value) -> Value:
        filters = weights((8, 3, 3, 8), channels=True, dtype="int8")
        biases = bias(filters, 8, "int32")
        return quantized("CONV_2D", image, filters, biases, scale=0.4, **window())

    integers = conv(conv(quantized("QUANTIZE", x(1, 8, 8, 8), scale=1 / 64, zero=3)))
    floats = call("CONV_2D", call("DEQUANTIZE", integers), w(8, 3, 3, 8), w(8), **window())
    floats = call("CONV_2D", call("RELU", floats), w(5, 3, 3, 8), w(5), **window())
    made = model({"integers": integers, "floats": floats})
    expected = Reference(made.content, kernels="XNNPACK").run(made.inputs)
    compiled = built(made, "gpu", precision="f16")
    assert {tensor.stored for tensor in compiled.plan.tensors} == {"", "uint8", "float16"}
    found = [*run(compiled, opencl_device, tmp_path, made.inputs).values()]
    np.testing.assert_array_equal(found[0], expected[0])
    assert 0 < relative_error(found[1], expected[1]) < 1e-2


@pytest.mark.parametrize("target", ["opencl", "glsl"])
def test_arenas_are_a_quarter(target: TargetName) -> None:
    made = network("int8", -7)
    narrow, wide = (
        built(made, "gpu", *without, target=target).plan.memory.planned
        for without in ((), ("store_integers",))
    )
    assert narrow <= 0.3 * wide


def test_kernels_say_what_they_store() -> None:
    sources = built(network("int8", -7), "gpu").sources.values()
    assert any("in slices of 4 channels, as bytes from -121" in text for text in sources)
    parameters = [line for text in sources for line in re.findall(r"__global .*", text)]
    assert any("row-major, as bytes from -99" in text for text in sources)
    assert any("const uchar4* restrict x" in line for line in parameters)
    assert any("const uchar* restrict x" in line for line in parameters)
    assert any(" uchar4* restrict y" in line for line in parameters)


def test_joined_tensors_are_views() -> None:
    plan = built(network("int8", -7), "gpu").plan
    assert not any("CONCATENATION" in dispatch.label for dispatch in plan.dispatches)


def test_the_model_s_integers_are_stored_by_the_kernel_that_computes_them() -> None:
    for device in ("gpu", "cpu_avx512"):
        labels = [d.label for d in built(network("int8", -7), device).plan.dispatches]
        assert not any("from_centered" in label for label in labels)
        assert "CONV_2D + tflgpu.requantize -> integers" in labels


def test_plans_say_what_they_store() -> None:
    stored = {storage_of(tensor) for tensor in built(network("int8", -7), "gpu").plan.tensors}
    assert stored == {
        "row-major",
        "row-major, as int8 from 7",
        "row-major, as uint8 from -99",
        "slices of 4, as uint8 from -121",
    }


def test_byte_accessors_name_no_language() -> None:
    view = Sliced.of(Buffer("x", OPENCL, 4), replace(BYTES, least=-128), (1, 5, 7, 11))
    gs, gy, gx, i, c = (Name(name) for name in ("gs", "gy", "gx", "i", "c"))
    assert str(view.read(0, gy, gx, gs)) == "load_bytes(x, (gs * 5 + gy) * 7 + gx, -128.0f)"
    stored = Call("store_bytes", Name("x"), i, Name("v"), -128.0)
    assert view.assign(i, Name("v")).items == (Evaluate(stored),)
    assert str(view.lane(0, 0, 0, c)) == "byte_lane(x, c / 4 * 35, c % 4, -128.0f)"
    assert str(view.entry(i)) == "byte_lane(x, i / 4, i % 4, -128.0f)"


def test_shorts_have_two_channels_in_a_word_of_glsl() -> None:
    need_programs("glslangValidator")
    for target, element in (("opencl", "ushort4"), ("glsl", "uvec2"), ("vulkan", "uvec2")):
        sources = built(network("int16", 0), "gpu", target=target).sources.values()
        assert any("as shorts from -32768" in text for text in sources)
        assert any(f" {element}" in text for text in sources)
