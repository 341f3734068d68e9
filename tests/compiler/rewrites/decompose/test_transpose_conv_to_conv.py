"""Transposed convolutions with stride 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rewriting import assert_agrees, assert_becomes, assert_declines, rewritten

from tflgpu.compiler.rewrites.decompose.convolution import transpose_conv_to_conv

STRIDE_1 = """
    input x float32[1,7,5,3]
    constant shape int32[4] = 1, 7, 5, 19
    constant w float32[19,3,4,3]
    constant b float32[19]
    y = TRANSPOSE_CONV(shape, w, x, b) padding=SAME stride_h=1 stride_w=1
    output y
"""


def test_a_convolution_with_a_flipped_window() -> None:
    before, _ = rewritten(STRIDE_1)
    expected = "y = CONV_2D(x, w/flipped, b) padding=((1,1),(2,1)) stride_h=1 stride_w=1"
    (op,) = assert_becomes(STRIDE_1, expected, transpose_conv_to_conv).ops
    weights = before.ops[0].constant(1)
    np.testing.assert_array_equal(op.constant(1), weights[:, ::-1, ::-1])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "1, 7, 5, 19\n    constant w float32[19,3,4,3]",
            "1, 7, 3, 19\n    constant w float32[19,1,1,3]",
            "some input pixels do not contribute to the output",
        ),
        ("constant w", "input w", "the weights are computed while the model runs"),
    ],
    ids=["narrow", "computed"],
)
def test_it_declines(old: str, new: str, reason: str) -> None:
    assert_declines(STRIDE_1.replace(old, new), f"^{reason}$", transpose_conv_to_conv)


def test_strides_stay() -> None:
    source = STRIDE_1.replace("1, 7, 5, 19", "1, 14, 10, 19")
    source = source.replace("stride_h=1 stride_w=1", "stride_h=2 stride_w=2")
    assert_declines(source, "^the stride is not 1$", transpose_conv_to_conv)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, STRIDE_1, off=[transpose_conv_to_conv])
