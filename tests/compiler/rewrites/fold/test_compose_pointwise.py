"""Consecutive 1x1 convolutions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cases.convolutions import conv, window
from graphs import Value, call, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, rewritten

from tflgpu.compiler.rewrites.fold.compose_pointwise import compose_pointwise

PAIR = """
    input x float32[1,7,5,3]
    constant v float32[31,1,1,3]
    constant a float32[31]
    constant w float32[17,1,1,31]
    constant b float32[17]
    t = CONV_2D(x, v, a) padding=VALID stride_h=1 stride_w=1
    y = CONV_2D(t, w, b) padding=VALID stride_h=1 stride_w=1
    output y
"""

POINT = window("VALID")


def pointwise(image: Value, outputs: int, inputs: int) -> Value:
    return conv(image, (outputs, inputs), (1, 1))


def test_weights_and_biases_are_multiplied() -> None:
    before, _ = rewritten(PAIR)
    expected = "y = CONV_2D(x, y/weights, y/bias) padding=VALID stride_h=1 stride_w=1"
    (op,) = assert_becomes(PAIR, expected, compose_pointwise).ops
    (v, a), (w, b) = ((each.constant(1)[:, 0, 0], each.constant(2)) for each in before.ops)
    np.testing.assert_allclose(op.constant(1)[:, 0, 0], w @ v, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(op.constant(2), w @ a + b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (
            pointwise(pointwise(x(1, 7, 5, 17), 3, 17), 19, 3),
            "17 x 19 products per pixel are no fewer than with 3 channels in between",
        ),
        (
            conv(pointwise(x(1, 7, 5, 3), 31, 3), (5, 31)),
            "the convolutions are not both 1x1 and ungrouped",
        ),
        (
            call(
                *("CONV_2D", pointwise(x(1, 7, 5, 3), 31, 3), call("TANH", x(5, 1, 1, 31)), w(5)),
                **POINT,
            ),
            "weights or a bias are computed while the model runs",
        ),
        (
            call("CONV_2D", x(1, 7, 5, 3), pointwise(x(4, 1, 1, 3), 3, 3), w(4), **POINT),
            "the second convolution does not read the first as its feature map",
        ),
    ],
    ids=["narrow", "3x3", "computed", "weights"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", compose_pointwise)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, PAIR, off=[compose_pointwise])
