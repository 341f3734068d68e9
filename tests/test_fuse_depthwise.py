"""A depthwise convolution and the 1x1 convolution behind it in one kernel."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphs import Value, call, w, x
from rewrites import assert_agrees, compiled, kernels, operators, reasons, text

RULES = ("fuse_elementwise", "fuse_depthwise")
RULE = "fuse_depthwise"


def depthwise(image: Value, channels: int, stride: int = 1, rate: int = 1) -> Value:
    steps = {"stride_h": stride, "stride_w": stride, "depth_multiplier": 1}
    rates = {"dilation_h_factor": rate, "dilation_w_factor": rate}
    weights = w(1, 3, 5, channels), w(channels)
    return call("DEPTHWISE_CONV_2D", image, *weights, padding="SAME", **steps, **rates)


def pointwise(image: Value, outputs: int, inputs: int, size: int = 1) -> Value:
    weights = w(outputs, size, size, inputs), w(outputs)
    return call("CONV_2D", image, *weights, padding="SAME", stride_h=1, stride_w=1)


def pair(inputs: int = 11, outputs: int = 7, **steps: int) -> Value:
    inner = call("RELU6", depthwise(x(1, 11, 13, inputs), inputs, **steps))
    return pointwise(inner, outputs, inputs)


def residual() -> Value:
    """The picture is added to the result, and read where it already is."""
    image = x(2, 7, 5, 7)
    return call("RELU", call("ADD", pointwise(depthwise(image, 7), 7, 7), image))


def smooth() -> Value:
    """More than one slice on both sides, and a diamond between the two."""
    inner = depthwise(x(1, 5, 7, 37), 37)
    return call("TANH", pointwise(call("MUL", inner, call("LOGISTIC", inner)), 29, 37))


def shared() -> list[Value]:
    inner = depthwise(x(1, 5, 7, 5), 5)
    return [pointwise(inner, 7, 5), call("EXP", inner)]


def added() -> Value:
    """The value between is added to the result."""
    inner = depthwise(x(1, 5, 7, 7), 7)
    return call("ADD", pointwise(inner, 7, 7), inner)


def rows(width: int, **steps: int) -> Value:
    """Rows of several tiles, most of which see no edge of the picture."""
    inner = call("RELU", depthwise(x(2, 5, width, 35), 35, **steps))
    return pointwise(inner, 85, 35)


def slopes() -> Value:
    return pointwise(call("PRELU", depthwise(x(1, 5, 7, 5), 5), w(1, 1, 5)), 7, 5)


def test_the_pair_is_one_kernel() -> None:
    assert operators(pair(), *RULES) == "tflgpu.depthwise_pointwise"
    assert text(pair(), *RULES).count("DEPTHWISE_CONV_2D") == 1
    assert "|RELU6(%0)" in text(pair(), *RULES)
    assert operators(residual(), *RULES) == "tflgpu.depthwise_pointwise | ADD | RELU"
    assert (kernels(residual(), RULE), kernels(residual())) == (3, 2)
    dispatch = compiled(pair()).plan.dispatches[-1]
    assert dispatch.operators == (0, 1, 2)
    assert len(compiled(residual()).plan.dispatches[-1].arguments) == 3


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (shared(), "others need the value, too"),
        (added(), "others need the value, too"),
        (pointwise(depthwise(x(1, 5, 7, 5), 5), 7, 5, 3), "the convolution is not 1x1"),
        (slopes(), "its activation has an operand for each channel"),
        (pair(513, 321), "513 and 321 channels are too many on cpu_avx512"),
        (pointwise(depthwise(x(1, 1, 4097, 5), 5), 7, 5), "a row of 5 channels takes more than"),
    ],
)
def test_it_declines(value: Value | list[Value], reason: str) -> None:
    assert "tflgpu.depthwise_pointwise" not in operators(value, *RULES)
    assert reasons(value, *RULES)[-1].startswith(reason)


@pytest.mark.parametrize(
    "value",
    [
        pair(stride=2),
        pair(3, 5, rate=2),
        residual(),
        smooth(),
        rows(37),
        rows(53, stride=2),
        rows(48, rate=9),
    ],
    ids=["stride", "rate", "residual", "smooth", "rows", "rows by 2", "rows of wide windows"],
)
def test_numbers_agree(value: Value, tmp_path: Path) -> None:
    assert_agrees(value, tmp_path, RULE)
