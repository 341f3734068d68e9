"""Depthwise convolutions and the 1x1 convolutions that read them."""

from pathlib import Path

import pytest
from graphs import Value, call, w, x
from rewriting import assert_agrees, compiled, kernels, operators, reasons, rewritten

from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.fuse_pointwise import fuse_depthwise

PASSES = (fuse_elementwise, fuse_depthwise)


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
    """The input is added to the result, and bound once."""
    image = x(2, 7, 5, 7)
    return call("RELU", call("ADD", pointwise(depthwise(image, 7), 7, 7), image))


def smooth() -> Value:
    """Several slices on both sides, and a diamond between the two."""
    inner = depthwise(x(1, 5, 7, 37), 37)
    return call("TANH", pointwise(call("MUL", inner, call("LOGISTIC", inner)), 29, 37))


def shared() -> list[Value]:
    inner = depthwise(x(1, 5, 7, 5), 5)
    return [pointwise(inner, 7, 5), call("EXP", inner)]


def added() -> Value:
    """The depthwise result is added to the result."""
    inner = depthwise(x(1, 5, 7, 7), 7)
    return call("ADD", pointwise(inner, 7, 7), inner)


def rows(width: int, **steps: int) -> Value:
    """Rows of several tiles, most of which are not at an edge of the image."""
    inner = call("RELU", depthwise(x(2, 5, width, 35), 35, **steps))
    return pointwise(inner, 85, 35)


def slopes() -> Value:
    return pointwise(call("PRELU", depthwise(x(1, 5, 7, 5), 5), w(1, 1, 5)), 7, 5)


def test_the_pair_is_one_kernel() -> None:
    assert operators(pair(), *PASSES) == "tflgpu.depthwise_pointwise"
    (op,) = rewritten(pair(), *PASSES)[0].ops
    assert [inner.name for inner in op.core] == ["DEPTHWISE_CONV_2D", "RELU6", "CONV_2D"]
    assert operators(residual(), *PASSES) == "tflgpu.depthwise_pointwise | ADD | RELU"
    assert (kernels(residual(), fuse_depthwise), kernels(residual())) == (3, 2)
    dispatch = compiled(pair()).plan.dispatches[-1]
    assert dispatch.operators == (0, 1, 2)
    assert len(compiled(residual()).plan.dispatches[-1].arguments) == 3


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (shared(), "the value is also used elsewhere"),
        (added(), "the convolution's epilogue also reads the result"),
        (
            pointwise(depthwise(x(1, 5, 7, 5), 5), 7, 5, 3),
            "the convolution is not 1x1 and ungrouped",
        ),
        (slopes(), "its epilogue reads more than scalar constants"),
        (pair(513, 513), "513 and 513 channels are too many for cpu_avx512"),
        (pointwise(depthwise(x(1, 1, 4097, 5), 5), 7, 5), "a row of 5 channels exceeds"),
    ],
)
def test_it_declines(value: Value | list[Value], reason: str) -> None:
    assert "tflgpu.depthwise_pointwise" not in operators(value, *PASSES)
    assert reasons(value, *PASSES)[-1].startswith(reason)


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
    assert_agrees(tmp_path, value, off=[fuse_depthwise])
