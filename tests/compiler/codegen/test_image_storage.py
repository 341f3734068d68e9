"""Profiles with images as storage: kernels read texels of an image of a buffer, not its slices."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from agreement import problems
from cases import families
from cases.convolutions import window
from devices import Way, own_profile
from graphs import Value, call, model, w, x

import tflgpu
from tflgpu.compiler import CompiledModel, Options, pipeline
from tflgpu.compiler.options import TargetName
from tflgpu.runtime import PlanError
from tflgpu.runtime.opencl.device import OpenCLDevice
from tflgpu.runtime.plan.records import Plan

# Operators that read in all the ways there are: by slices and by lanes, in windows and rows.
READERS = (
    *("ADD", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV", "BATCH_MATMUL"),
    *("AVERAGE_POOL_2D", "RESIZE_BILINEAR", "MEAN", "SOFTMAX", "CUMSUM", "GATHER", "PAD"),
    *("CONCATENATION", "STRIDED_SLICE", "TRANSPOSE", "SPACE_TO_DEPTH", "fused", "quantized layers"),
)
LOOKED_AT = 8  # Of an operator's cases every eighth; with buffers all of them run.
POOL = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "filter_height": 2, "filter_width": 2}
POOLED = call("MAX_POOL_2D", x(1, 7, 11, 8), **POOL)
CONVOLUTION = call("CONV_2D", POOLED, w(8, 3, 3, 8), w(8), **window())


@pytest.mark.parametrize("operator", READERS)
def test_operators_agree_with_litert(operator: str, driver: str, tmp_path: Path) -> None:
    """On one device: kernels of images differ from others in their reads only."""
    found = problems(families()[operator][::LOOKED_AT], Way("opencl", "adreno", driver), tmp_path)
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())


def built(value: Value, device: str, target: TargetName = "opencl") -> CompiledModel:
    options = Options(target=target, device=device, fallback="none")
    return pipeline.build(model({"value": value}).content, options)


def parameters(value: Value, device: str, target: TargetName = "opencl") -> list[str]:
    """What the last kernel of a model takes: an image or a buffer, and its name."""
    (*_, source) = built(value, device, target).sources.values()
    found = re.findall(r"^    (__\w+) .*?(\w+)(?:,|\) \{)$", source, re.M)
    return [f"{'image' if kind == '__read_only' else 'buffer'} {name}" for kind, name in found]


def test_what_is_read_is_an_image_where_the_profile_says_so(tmp_path: Path) -> None:
    buffers = ["buffer x", "buffer constants", "buffer y"]
    assert parameters(CONVOLUTION, "gpu") == buffers
    assert parameters(CONVOLUTION, "adreno") == ["image x", "image constants", "buffer y"]
    weights_only = own_profile(tmp_path, "adreno", tensor_storage="buffer")
    assert parameters(CONVOLUTION, weights_only) == ["buffer x", "image constants", "buffer y"]
    # There are 7 x 11 x 2 slices of activations and 2 + 9 x 8 x 2 of constants.
    narrow = own_profile(tmp_path, "adreno", image_texels=154)
    assert parameters(CONVOLUTION, narrow) == ["image x", "image constants", "buffer y"]
    narrow = own_profile(tmp_path, "adreno", image_texels=146)
    assert parameters(CONVOLUTION, narrow) == ["buffer x", "image constants", "buffer y"]
    narrow = own_profile(tmp_path, "adreno", image_texels=145)
    assert parameters(CONVOLUTION, narrow) == buffers


def test_the_plan_says_what_is_an_image() -> None:
    def texels(device: str, target: TargetName) -> list[int]:
        arguments = built(CONVOLUTION, device, target).plan.dispatches[-1].arguments
        return [argument.texel for argument in arguments]

    assert texels("adreno", "opencl") == [16, 16, 0]
    assert texels("adreno", "glsl") == [0, 0, 0]
    assert texels("gpu", "opencl") == [0, 0, 0]


def test_devices_without_such_images_say_so(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = pipeline.write(built(CONVOLUTION, "adreno"), tmp_path)

    def without(device: OpenCLDevice, plan: Plan) -> str | None:
        limits = replace(device.info.limits, image_texels=100)
        device.info = replace(device.info, limits=limits)
        return objection(device, plan)

    objection = OpenCLDevice.unsupported_reason
    monkeypatch.setattr(OpenCLDevice, "unsupported_reason", without)
    with pytest.raises(
        PlanError, match="it reads images of 154 texels, but the limit of this device is 100"
    ):
        tflgpu.load(plan, device=opencl_device)
