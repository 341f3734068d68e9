"""Scales and offsets before convolutions."""

from pathlib import Path

import numpy as np
import pytest
from cases.convolutions import conv, window
from graphs import Value, call, ints, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, operators, rewritten

from tflgpu.compiler.rewrites.fold.fold_scales import fold_scale_before_conv

VALID = window("VALID")


def image() -> Value:
    return x(1, 7, 5, 3)


def transposed(source: Value) -> Value:
    """Twice as many rows and columns as a feature map [2, 7, 5, 3]."""
    attrs = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
    return call("TRANSPOSE_CONV", ints(2, 14, 10, 19), w(19, 3, 3, 3), source, w(19), **attrs)


def chain(first: str, second: str) -> Value:
    """Constants on each side of a convolution."""
    source = call(first, call(second, image(), w(3)), w(3))
    convolved = conv(source, (5, 3), **VALID)
    return call(second, call(first, convolved, w(5)), w())


@pytest.mark.parametrize("operator", ["MUL", "DIV", "ADD", "SUB"])
def test_weights_and_bias_take_in_a_constant(operator: str) -> None:
    source = f"""
        input x float32[1,5,7,3]
        constant w float32[11,2,2,3]
        constant b float32[11]
        constant s float32[3] positive
        t = {operator}(x, s)
        y = CONV_2D(t, w, b) padding=VALID stride_h=1 stride_w=1
        output y
    """
    before, _ = rewritten(source)
    scaled = operator in ("MUL", "DIV")
    operands = "x, w/scaled, b" if scaled else "x, w, y/bias"
    expected = f"y = CONV_2D({operands}) padding=VALID stride_h=1 stride_w=1"
    (op,) = assert_becomes(source, expected, fold_scale_before_conv).ops
    step, convolution = before.ops
    s, weights, bias = step.constant(1), convolution.constant(1), convolution.constant(2)
    if scaled:
        factor = s if operator == "MUL" else 1 / s
        np.testing.assert_allclose(op.constant(1), weights * factor, rtol=1e-6)
    else:
        added = (weights * s).sum((1, 2, 3)) * (1 if operator == "ADD" else -1)
        np.testing.assert_allclose(op.constant(2), bias + added, rtol=1e-5)


def test_several_constants_are_taken_in_one_after_the_other() -> None:
    value = conv(call("ADD", call("MUL", image(), w(3)), w(3)), (19, 3), **VALID)
    assert operators(value) == "MUL  ADD  CONV_2D"
    assert operators(value, fold_scale_before_conv) == "CONV_2D"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            conv(call("ADD", image(), w(3)), (19, 3)),
            "the convolution has padding, to which nothing is added",
        ),
        (
            transposed(call("ADD", x(2, 7, 5, 3), w(3))),
            "at the edges a window covers fewer pixels, so the sum differs there",
        ),
        (
            conv(call("SUB", w(3), image()), (19, 3), (1, 1)),
            "the feature map is the subtrahend or divisor",
        ),
        (
            conv(call("MUL", image(), w(5, 1)), (19, 3), (1, 1)),
            "the constant is neither a scalar nor one value per channel",
        ),
        (
            call("CONV_2D", image(), call("MUL", x(5, 1, 1, 3), w(3)), w(5), **VALID),
            "the result is used as weights or bias",
        ),
        (
            call(
                *("CONV_2D", call("MUL", image(), w(3)), call("TANH", x(5, 1, 1, 3)), w(5)), **VALID
            ),
            "weights or bias are computed while the model runs",
        ),
        (conv(call("MUL", image(), x(3)), (5, 3), (1, 1)), "neither operand is a constant"),
        (
            conv(call("MUL", x(1, 7, 5, 1), w(3)), (5, 3), (1, 1)),
            "the feature map broadcasts, or the channels are split into groups",
        ),
    ],
    ids=[
        *("padding", "transposed", "subtrahend", "columns", "weights", "computed weights"),
        *("computed", "broadcasts"),
    ],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", fold_scale_before_conv)


def test_numbers_agree(tmp_path: Path) -> None:
    operators = ("MUL", "ADD", "SUB", "DIV")
    values = [chain(first, second) for first in operators for second in ("MUL", "ADD")]
    values += [transposed(call(name, x(2, 7, 5, 3), w(3))) for name in ("MUL", "ADD")]
    values.append(conv(call("MUL", x(1, 7, 5, 6), w(6)), (8, 3)))
    deep = call("ADD", call("MUL", x(1, 7, 5, 17), w(17)), w(17))
    weights = {**VALID, "depth_multiplier": 1}
    values.append(call("DEPTHWISE_CONV_2D", deep, w(1, 3, 3, 17), w(17), **weights))
    assert_agrees(tmp_path, *values, off=[fold_scale_before_conv])
