"""Options: their valid values, and the errors for other values."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import call, model, x

from tflgpu.compiler import ModelError, OptionError, Options, compile, pipeline
from tflgpu.runtime import DeviceError
from tflgpu.runtime.cache.variant import read_plan

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
def test_an_invalid_value_is_an_error_that_names_its_option(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        pipeline.build(MODEL, Options(**options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fallback_ops": "RELU"}, "fallback_ops='RELU': give a list, such as ['RELU']"),
        ({"fallback_ops": 3}, "fallback_ops=3: give a list, such as [3]"),
        ({"custom_ops": "RELU"}, "custom_ops='RELU': give a list"),
        ({"disable_passes": "fuse"}, "disable_passes='fuse': give a list"),
        ({"precision": "f16", "keep_f32": "RELU"}, "keep_f32='RELU': give a list"),
        ({"input_shapes": [("x", (3, 5))]}, "give shapes by the names of inputs"),
        ({"input_shapes": {"x": 3}}, "give shapes by the names of inputs"),
        ({"input_shapes": {"x": (3.5, 5)}}, "give shapes by the names of inputs"),
        ({"inputs": "rgba8"}, "inputs='rgba8': give formats by the names of inputs"),
        (
            {"precision": "f16", "keep_f32": "auto", "tolerance": -1},
            "tolerance=-1: give a number above 0",
        ),
        ({"tolerance": "low"}, "tolerance='low': give a number above 0"),
        ({"cut_tables": "no"}, "cut_tables='no': give True or False"),
        ({"keep_intermediates": 1}, "keep_intermediates=1: give True or False"),
    ],
)
def test_arguments_of_a_wrong_form(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        compile(MODEL, tmp_path, device="cpu", **options)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"device": 0}, "a name as a string"),
        ({"tuning": Path("table.json")}, "the path of a tuning table as a string"),
        ({"precision": "f16", "keep_f32": (True,)}, "operators by name or index"),
        ({"custom_ops": ("A", 3)}, "a tuple of operator names"),
        ({"input_shapes": (("x", (3, "5")),)}, "a tuple of (name, shape) pairs"),
        ({"input_shapes": (("x", (3, 5), 7),)}, "a tuple of (name, shape) pairs"),
        ({"keep": (("kv_*_*", "kv_*_*"),)}, "a tuple of pairs of an output and an input"),
        ({"keep": (("kv_*", "kv"),)}, "a tuple of pairs of an output and an input"),
    ],
)
def test_options_of_a_wrong_form(options: dict[str, Any], wanted: str) -> None:
    *_, (name, value) = options.items()
    with pytest.raises(OptionError, match=re.escape(f"{name}={value!r}: give {wanted}")):
        Options(**options)


def test_sizes_may_be_of_numpy(tmp_path: Path) -> None:
    (name,) = (info.name for info in pipeline.build(MODEL, Options(device="cpu")).plan.inputs)
    shapes: Any = {name: np.array([7, 5])}
    folder = compile(MODEL, tmp_path, device="cpu", input_shapes=shapes)
    assert read_plan(folder).inputs[0].shape == (7, 5)


def test_auto_is_for_commands_that_search() -> None:
    with pytest.raises(OptionError, match="'auto' is for compile, tune and verify"):
        pipeline.build(MODEL, Options(device="cpu", precision="f16", keep_f32=("auto",)))


def test_an_unknown_option() -> None:
    options: dict[str, Any] = {"speed": 11}
    with pytest.raises(TypeError, match="speed"):
        Options(**options)


def test_the_error_for_an_unknown_device_names_the_profiles() -> None:
    with pytest.raises(DeviceError, match=r"compile for a device profile: .*cpu, cpu_arm_bytes"):
        pipeline.build(MODEL, Options(device="abacus"))


def test_the_shape_of_an_unknown_input() -> None:
    options = Options(device="cpu", input_shapes=(("pixels", (1, 2, 3)),))
    with pytest.raises(ModelError, match="no input pixels; its inputs are y/in0"):
        pipeline.build(MODEL, options)
