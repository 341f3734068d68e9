"""Transposed convolutions whose weights are computed while the model runs."""

from __future__ import annotations

from rewriting import assert_declines, rewritten

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators

SOURCE = """
    input x float32[1,4,5,3]
    input w float32[7,3,3,3]
    constant s int32[4] = 1, 8, 10, 7
    y = TRANSPOSE_CONV(s, w, x) padding=SAME stride_h=2 stride_w=2
    output y
"""


def test_zeros_between_the_pixels_and_a_flipped_window() -> None:
    graph, _ = rewritten(SOURCE, decompose_operators)
    names = [op.name for op in graph.ops]
    assert names[:4] == ["RESHAPE", "PAD", "RESHAPE", "PAD"]
    assert names[4:6] == ["REVERSE_V2"] * 2
    # One row and column of zeros after each pixel, and a border for the window.
    assert graph.ops[1].constant(1).tolist() == [[0, 0]] * 2 + [[0, 1], [0, 0], [0, 1], [0, 0]]
    assert graph.ops[3].output.shape == (1, 10, 12, 3)
    assert [op.constant(1).tolist() for op in graph.ops[4:6]] == [[1], [2]]
    # The convolution has computed weights, and is decomposed in turn.
    assert names[6:] == ["RESHAPE", "TRANSPOSE", "RESHAPE", "CONV_3D", "RESHAPE"]


def test_constant_weights_stay() -> None:
    source = SOURCE.replace("input w", "constant w")
    assert_declines(source, "^weights and bias are constants$", decompose_operators)
