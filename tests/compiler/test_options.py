"""Options: what they may be, and what is said of others."""

from __future__ import annotations

from typing import Any

import pytest
from cases.convolutions import conv, window
from graphs import Call, Model, call, ints, model, w, x

from tflgpu.compiler import ModelError, OptionError, Options, pipeline
from tflgpu.runtime import DeviceError


def network() -> Call:
    """Two convolutions, a pool, a mean and a dense layer: all that shape inference goes through."""
    image = x(1, 13, 17, 3)
    first = call("RELU", conv(image, (19, 3), **window("SAME", (2, 2))))
    pooled = call("MAX_POOL_2D", first, **POOL)
    second = conv(pooled, (7, 19), (1, 1))
    mean = call("MEAN", second, ints(1, 2), keep_dims=False)
    return call("SOFTMAX", call("FULLY_CONNECTED", mean, w(5, 7), w(5)), beta=1.0)


@pytest.fixture(scope="module")
def small() -> Model:
    return model({"scores": network()})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "cuda"}, "target='cuda': choose one of opencl, glsl"),
        ({"precision": "f8"}, "precision='f8': choose one of f32"),
        ({"fallback": "numpy"}, "fallback='numpy': choose one of litert, none"),
        ({"speed": 11}, "no option speed; there are target, precision, device"),
        ({"device": "cpu", "disable_passes": ("fuse",)}, "no pass 'fuse'; there are .*propagate"),
        ({"device": "cpu", "disable_passes": ("propagate",)}, "the pass propagate cannot be left"),
    ],
)
def test_options_that_do_not_exist(options: dict[str, Any], message: str, small: Model) -> None:
    with pytest.raises(OptionError, match=message):
        pipeline.build(small.content, pipeline.make_options(options))


def test_a_device_that_does_not_exist_names_those_that_do(small: Model) -> None:
    with pytest.raises(DeviceError, match=r"compile for a device profile: .*cpu, cpu_avx2"):
        pipeline.build(small.content, Options(device="abacus"))


def test_an_input_that_does_not_exist(small: Model) -> None:
    options = Options(device="cpu", input_shapes=(("pixels", (1, 2, 3)),))
    with pytest.raises(ModelError, match="pixels"):
        pipeline.build(small.content, options)


POOL = {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2, "padding": "VALID"}
