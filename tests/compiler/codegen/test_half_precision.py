"""Half precision: how activations are stored, and which kernels compute in it."""

from pathlib import Path

import numpy as np
import pytest
from agreement import assert_agrees, assert_litert, run
from cases.convolutions import window
from devices import need_programs
from graphs import call, ints, model, reshape, w, x, xi
from graphs.values import Constant
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler.accessors import Buffer, Sliced
from tflgpu.compiler.accessors.codecs import Half, HalfNumbers
from tflgpu.compiler.accessors.linear import Linear
from tflgpu.compiler.language.expression import Name
from tflgpu.compiler.language.language import OPENCL
from tflgpu.compiler.language.primary import Call
from tflgpu.compiler.language.statement import Evaluate
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.options import Options, Precision, TargetName
from tflgpu.compiler.pipeline import build
from tflgpu.runtime import PlanError

PRECISIONS: tuple[Precision, ...] = ("f32", "f16")
TOLERANCE = 1e-2
STEPS = {"padding": "SAME", "stride_h": 1, "stride_w": 1}


@pytest.mark.parametrize(
    "target, profile",
    [
        ("opencl", "cpu"),
        ("opencl", "cpu_avx512"),
        ("opencl", "gpu"),
        ("opencl", "gles31"),
        ("glsl", "gpu"),
        ("glsl", "mali"),
    ],
)
def test_half_storage_agrees_with_litert(
    target: TargetName, profile: str, driver: str, tmp_path: Path
) -> None:
    image = np.random.default_rng(3).random((1, 8, 8, 1), np.float32)
    single, half = (
        tflgpu.compile(
            *(DIGITS_MODEL, tmp_path), target=target, precision=precision, device=profile
        )
        for precision in PRECISIONS
    )
    assert single != half
    with tflgpu.load(half, device=driver) as session:
        session.poison()
        scores = session.run(image)["probabilities"]
        stored = [tensor for tensor in session.plan.tensors if tensor.stored == "float16"]
        assert stored and all(tensor.lanes for tensor in stored)
        planned = session.plan.memory.planned
        inner = session.read(stored[-1].name)
        assert inner.shape == stored[-1].shape and np.isfinite(inner).all()
    with tflgpu.load(single, device=driver) as session:
        assert planned < session.plan.memory.planned
    expected = Reference(DIGITS_MODEL).run([image])[0]
    assert np.abs(scores - expected).max() <= TOLERANCE * max(1.0, np.abs(expected).max())
    assert scores.argmax() == expected.argmax()


def test_half_accessors_name_no_language() -> None:
    view = Sliced.of(Buffer("x", OPENCL, 4), Half(), (1, 5, 7, 11))
    gs, gy, gx, i, c = (Name(name) for name in ("gs", "gy", "gx", "i", "c"))
    assert str(view.read(0, gy, gx, gs)) == "load_half(x, (gs * 5 + gy) * 7 + gx)"
    stored = Call("store_half", Name("x"), i, Name("v"))
    assert view.assign(i, Name("v")).items == (Evaluate(stored),)
    assert str(view.lane(0, 0, 0, c)) == "half_lane(x, c / 4 * 35, c % 4)"


def test_lanes_of_ragged_rows_of_halves_are_floats() -> None:
    rows = Linear(Buffer("x", OPENCL, 4), HalfNumbers(), (3, 7))
    each = ", ".join(f"half_at(x, {index})" for index in ("i", "i + 1", "i + 2", "i + 3"))
    assert str(rows.load_slice(Name("i"))) == f"(float4)({each})"


def test_half_groups_find_their_channels(opencl_device: str, tmp_path: Path) -> None:
    image = call("ABS", x(1, 5, 7, 32))
    convolution = call("CONV_2D", image, w(32, 3, 3, 16), w(32), **window())
    grouped = model({"value": call("ABS", convolution)})
    compiled = build(grouped.content, Options(device="gpu", precision="f16"))
    found = run(compiled, opencl_device, tmp_path, grouped.inputs)
    assert_litert(found, grouped, TOLERANCE)


@pytest.mark.filterwarnings("ignore:.*half precision holds 65504")
@pytest.mark.parametrize("target", ["opencl", "glsl"])
def test_tables_are_halved_and_large_constants_are_not(
    target: TargetName, driver: str, tmp_path: Path
) -> None:
    rows = call("GATHER", w(37, 11), xi(5, draw="places"), axis=0)
    shifted = call("ADD", rows, w(5, 11))
    large = Constant((1, 3, 3, 8), values=np.full((1, 3, 3, 8), 1e5, np.float32))
    joined = call("CONCATENATION", call("ABS", x(1, 3, 3, 8)), large, axis=3)
    made = model({"rows": shifted, "joined": joined})
    single, half = (
        build(made.content, Options(target=target, device="gpu", precision=precision))
        for precision in PRECISIONS
    )
    assert len(half.weights) < len(single.weights)
    found = run(half, driver, tmp_path, made.inputs)
    expected = Reference(made.content).run(made.inputs)
    for name, value in zip(("rows", "joined"), expected, strict=True):
        assert np.abs(found[name] - value).max() <= 2e-3 * np.abs(value).max()
    assert np.any(found["rows"] != expected[0])


@pytest.mark.parametrize(
    "target, halves, extensions",
    [
        ("opencl", "half4 sum", ("cl_khr_fp16",)),
        ("vulkan", "f16vec4 sum", ("VK_KHR_16bit_storage", "VK_KHR_shader_float16_int8")),
        ("glsl", "mediump vec4 sum", ()),
    ],
)
def test_layers_compute_in_half_where_the_profile_says_so(
    target: TargetName, halves: str, extensions: tuple[str, ...]
) -> None:
    if target == "vulkan":
        need_programs("glslangValidator")
    options = Options(target=target, device="mali", precision="f16", fallback="none")
    compiled = build(DIGITS_MODEL, options)
    remark = "// multiplies and adds in half precision\n"
    found = {
        text.split(": ")[1].splitlines()[0]: remark in text for text in compiled.sources.values()
    }
    halved = {name for name, half in found.items() if half}
    assert {"CONV_2D + RELU + ADD", "DEPTHWISE_CONV_2D + RELU"} <= halved
    assert {"MAX_POOL_2D", "SOFTMAX"} <= found.keys() - halved
    texts = [text for text in compiled.sources.values() if remark in text]
    assert any(halves in text for text in texts)
    assert compiled.plan.needs.extensions == extensions


@pytest.mark.parametrize(
    "precision, size, read, written",
    [
        ("f16", 112, "uvec4", "pairs4"),
        ("f16", 111, "f16vec4", "f16vec4"),
        ("f32", 112, "vec4", "mat4"),
        ("f32", 111, "vec4", "vec4"),
    ],
)
def test_neighbouring_pixels_are_loaded_and_stored_together(
    precision: Precision, size: int, read: str, written: str
) -> None:
    """Two halves of 4 lanes are 128 bits; slices of 111 x 111 pixels begin within such elements."""
    need_programs("glslangValidator")
    image = call("CONV_2D", x(1, size, size, 4), w(16, 3, 3, 4), w(16), **window())
    pointwise = call("CONV_2D", image, w(64, 1, 1, 16), w(64), **window())
    last = call("CONV_2D", pointwise, w(4, 3, 3, 64), w(4), **window())
    options = Options(target="vulkan", device="mali", precision=precision, fallback="none")
    compiled = build(model({"y": last}).content, options)
    text = next(text for name, text in compiled.sources.items() if "conv_1x1" in name)
    assert f"buffer x_buffer {{ {read} x[]; }};" in text
    assert f"buffer y_buffer {{ {written} y[]; }};" in text


def test_metal_has_halves_without_extensions() -> None:
    need_programs("glslangValidator", "spirv-cross")
    options = Options(target="metal", device="apple", precision="f16", fallback="none")
    compiled = build(DIGITS_MODEL, options)
    assert any("half4 sum" in text for text in compiled.sources.values())
    assert compiled.plan.needs.extensions == ()


def test_images_are_read_in_half_by_layers() -> None:
    apart = ("fuse_depthwise",)
    options = Options(device="adreno", precision="f16", fallback="none", disable_passes=apart)
    compiled = build(DIGITS_MODEL, options)
    text = next(text for text in compiled.sources.values() if ": CONV_2D + RELU + ADD" in text)
    assert "half4 w0 = read_half_texel(" in text
    assert "v = read_texel(other, " in text


@pytest.mark.parametrize(
    "options",
    [
        Options(device="mali", precision="f32_f16"),
        Options(device="gpu", precision="f16"),
        Options(device="nvidia", precision="f16"),
        Options(device="mali", precision="f16", keep_f32=tuple(range(10))),
    ],
)
def test_all_else_computes_in_single(options: Options) -> None:
    compiled = build(DIGITS_MODEL, options)
    assert not any("in half precision" in text for text in compiled.sources.values())
    assert compiled.plan.needs.extensions == ()


def test_what_is_kept_in_single_precision_is_reshaped_into_half(
    opencl_device: str, tmp_path: Path
) -> None:
    """The kept pool keeps its operand, of which the convolution reads another view."""
    image = call("RESIZE_BILINEAR", x(1, 5, 7, 8), ints(6, 6))
    pooled = call("AVERAGE_POOL_2D", image, filter_height=2, filter_width=2, **STEPS)
    convolved = call("CONV_2D", reshape(image, 1, 4, 9, 8), w(16, 3, 3, 8), w(16), **STEPS)
    options = {"device": "cpu", "precision": "f16", "keep_f32": ("AVERAGE_POOL_2D",)}
    made = model({"y": [convolved, pooled]})
    assert_agrees(made, opencl_device, tmp_path, TOLERANCE, **options)


def test_a_device_without_half_arithmetic_refuses_it(opencl_device: str, tmp_path: Path) -> None:
    devices = {str(info): info for info in tflgpu.devices()}
    if "cl_khr_fp16" in devices[opencl_device].limits.extensions:
        pytest.skip("the device has it")
    path = tflgpu.compile(DIGITS_MODEL, tmp_path, device="mali", precision="f16")
    with pytest.raises(PlanError, match="it needs cl_khr_fp16, which this device lacks"):
        tflgpu.load(path, device=opencl_device)
