"""Options: their valid values, and the errors for other values."""

from __future__ import annotations

import re
from typing import Any

import pytest
from graphs import call, model, x

from tflgpu.compiler import ModelError, OptionError, Options, pipeline
from tflgpu.runtime import DeviceError

MODEL = model({"y": call("RELU", x(3, 5))}).content


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "cuda"}, "target='cuda': choose one of opencl, glsl, vulkan, metal"),
        ({"precision": "f8"}, "precision='f8': choose one of f32, f32_f16, f16"),
        ({"fallback": "numpy"}, "fallback='numpy': choose one of litert, none"),
        (
            {"device": "cpu", "disable_passes": ("fuse",)},
            "no pass 'fuse'; choose one of inline_subgraphs, infer_and_fold, ",
        ),
        (
            {"device": "cpu", "disable_passes": ("infer_and_fold",)},
            "the pass infer_and_fold cannot be left out",
        ),
    ],
)
def test_invalid_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        pipeline.build(MODEL, Options(**options))


def test_an_unknown_option() -> None:
    options: dict[str, Any] = {"speed": 11}
    with pytest.raises(TypeError, match="speed"):
        Options(**options)


def test_the_error_for_an_unknown_device_names_the_profiles() -> None:
    with pytest.raises(DeviceError, match=r"compile for a device profile: .*cpu, cpu_avx2"):
        pipeline.build(MODEL, Options(device="abacus"))


def test_the_shape_of_an_unknown_input() -> None:
    options = Options(device="cpu", input_shapes=(("pixels", (1, 2, 3)),))
    with pytest.raises(ModelError, match="no input pixels; its inputs are y/in0"):
        pipeline.build(MODEL, options)
