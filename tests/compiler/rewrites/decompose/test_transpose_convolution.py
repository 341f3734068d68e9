"""Transposed convolutions with stride 1, or with weights that are computed while the model runs."""

from pathlib import Path

import numpy as np
import pytest
from rewriting import assert_agrees, assert_becomes, assert_declines, rewritten

from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators

COMPUTED = """
    input x float32[1,4,5,3]
    input w float32[7,3,3,3]
    constant s int32[4] = 1, 8, 10, 7
    y = TRANSPOSE_CONV(s, w, x) padding=SAME stride_h=2 stride_w=2
    output y
"""

STRIDE_1 = """
    input x float32[1,7,5,3]
    constant shape int32[4] = 1, 7, 5, 19
    constant w float32[19,3,4,3]
    constant b float32[19]
    y = TRANSPOSE_CONV(shape, w, x, b) padding=SAME stride_h=1 stride_w=1
    output y
"""

# An odd output by windows of a pixel: no zeros follow the last row and column.
ODD = COMPUTED.replace("1, 8, 10, 7", "1, 7, 9, 7").replace("[7,3,3,3]", "[7,1,1,3]")


def test_zeros_between_the_pixels_and_a_flipped_window() -> None:
    graph, _ = rewritten(COMPUTED, decompose_operators)
    names = [op.name for op in graph.ops]
    assert names[:4] == ["RESHAPE", "PAD", "RESHAPE", "REVERSE_V2"]
    # One row and column of zeros after each pixel.
    assert graph.ops[1].constant(1).tolist() == [[0, 0]] * 2 + [[0, 1], [0, 0], [0, 1], [0, 0]]
    assert graph.ops[3].constant(1).tolist() == [1, 2]
    # The convolution has computed weights, and is decomposed in turn; the window has a border.
    assert names[4] == "PAD" and names.count("BATCH_MATMUL") == 3
    assert graph.ops[4].constant(1).tolist() == [[0, 0], [2, 0], [2, 0], [0, 0]]


def test_a_convolution_with_a_flipped_window() -> None:
    before, _ = rewritten(STRIDE_1)
    expected = "y = CONV_2D(x, y/reverse_v21.0, b) padding=((1,1),(2,1)) stride_h=1 stride_w=1"
    (op,) = assert_becomes(STRIDE_1, expected, decompose_operators).ops
    weights = before.ops[0].constant(1)
    np.testing.assert_array_equal(op.constant(1), weights[:, ::-1, ::-1])


def test_zeros_that_do_not_contribute_are_cropped() -> None:
    graph, _ = rewritten(ODD, decompose_operators)
    names = [op.name for op in graph.ops]
    assert names[:4] == ["RESHAPE", "PAD", "RESHAPE", "SLICE"]
    assert graph.ops[3].output.shape == (1, 7, 9, 3)


def test_the_output_must_be_one_that_the_input_reaches() -> None:
    wrong = STRIDE_1.replace("1, 7, 5, 19", "1, 7, 3, 19")
    expected = "TRANSPOSE_CONV: an output of 7x3 needs an input of 7x3, not of 7x5$"
    with pytest.raises(ModelError, match=expected):
        rewritten(wrong)


def test_computed_weights_stay_with_a_stride() -> None:
    source = COMPUTED.replace("input w", "constant w")
    assert_declines(source, "^weights and bias are constants$", decompose_operators)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, STRIDE_1)
