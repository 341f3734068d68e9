"""Convolutions with computed weights or bias, and depthwise ones with several outputs."""

from pathlib import Path

import numpy as np
from rewriting import assert_agrees, assert_becomes, assert_declines, operators, rewritten

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators


def convolution(channels: int, weights: str = "input", bias: str = "constant") -> str:
    return f"""
        input x float32[1,5,7,{channels}]
        {weights} w float32[4,3,3,3]
        {bias} b float32[4]
        y = CONV_2D(x, w, b) padding=SAME stride_h=2 stride_w=1
        output y
    """


def test_an_image_is_a_volume_of_depth_1() -> None:
    expected = """
        y/reshape0.0 = RESHAPE(x) new_shape=(1,1,5,7,3)
        y/transpose2.0 = TRANSPOSE(w, y/constant2)
        y/reshape3.0 = RESHAPE(y/transpose2.0) new_shape=(1,3,3,3,4)
        y/conv_3d4.0 = CONV_3D(y/reshape0.0, y/reshape3.0, b) padding=((0,0),(1,1),(1,1)) \
stride_h=2 stride_w=1 dilation_h_factor=1 dilation_w_factor=1
        y = RESHAPE(y/conv_3d4.0) new_shape=(1,3,7,4)
    """
    graph = assert_becomes(convolution(3), expected, decompose_operators)
    assert graph.ops[1].constant(1).tolist() == [1, 2, 3, 0]


def test_groups_are_convolved_one_by_one() -> None:
    group = "RESHAPE  TRANSPOSE  RESHAPE  CONV_3D  RESHAPE"
    expected = f"SPLIT  SPLIT  {group}  {group}  CONCATENATION"
    assert operators(convolution(6), decompose_operators) == expected


def test_a_computed_bias_is_added_separately() -> None:
    expected = """
        y/conv_2d0.0 = CONV_2D(x, w, none) padding=SAME stride_h=2 stride_w=1
        y = ADD(y/conv_2d0.0, b)
    """
    assert_becomes(convolution(3, "constant", "input"), expected, decompose_operators)


def test_constants_stay() -> None:
    reason = "^weights and bias are constants$"
    assert_declines(convolution(3, "constant"), reason, decompose_operators)


def test_a_depthwise_convolution_is_a_sum_over_its_taps() -> None:
    source = """
        input x float32[1,5,7,3]
        input w float32[1,1,2,3]
        y = DEPTHWISE_CONV_2D(x, w, none) padding=VALID stride_h=2 stride_w=1 depth_multiplier=1
        output y
    """
    expected = """
        y/pad1.0 = PAD(x, y/constant1)
        y/strided_slice5.0 = STRIDED_SLICE(w, y/constant3, y/constant4, y/constant5)
        y/strided_slice9.0 = STRIDED_SLICE(y/pad1.0, y/constant7, y/constant8, y/constant9)
        y/mul10.0 = MUL(y/strided_slice9.0, y/strided_slice5.0)
        y/strided_slice14.0 = STRIDED_SLICE(w, y/constant12, y/constant13, y/constant14)
        y/strided_slice18.0 = STRIDED_SLICE(y/pad1.0, y/constant16, y/constant17, y/constant18)
        y/mul19.0 = MUL(y/strided_slice18.0, y/strided_slice14.0)
        y = ADD(y/mul10.0, y/mul19.0)
    """
    graph = assert_becomes(source, expected, decompose_operators)
    second = graph.ops[5]
    edges = [second.constant(position).tolist() for position in (1, 2, 3)]
    assert edges == [[0, 0, 1, 0], [1, 5, 7, 3], [1, 2, 1, 1]]


SEVERAL = """
    input x float32[1,5,7,7]
    constant w float32[1,3,5,14]
    constant b float32[14]
    y = DEPTHWISE_CONV_2D(x, w, b) padding=VALID stride_h=1 stride_w=1 depth_multiplier=2
    output y
"""


def test_several_outputs_per_channel_are_a_grouped_convolution(tmp_path: Path) -> None:
    before, _ = rewritten(SEVERAL)
    expected = "y = CONV_2D(x, y/constant1, b) padding=VALID stride_h=1 stride_w=1"
    graph = assert_becomes(SEVERAL, expected, decompose_operators)
    weights = before.ops[0].constant(1)
    np.testing.assert_array_equal(graph.ops[0].constant(1)[..., 0], weights[0].transpose(2, 0, 1))
    assert_agrees(tmp_path, SEVERAL)


def test_one_output_per_channel_stays() -> None:
    source = SEVERAL.replace("14]", "7]").replace("multiplier=2", "multiplier=1")
    assert_declines(source, "^weights and bias are constants$", decompose_operators)
