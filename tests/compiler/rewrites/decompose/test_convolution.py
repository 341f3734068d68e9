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


PRODUCT = "RESHAPE  BATCH_MATMUL  RESHAPE"


def test_computed_weights_are_layers_for_the_rows_of_the_window(tmp_path: Path) -> None:
    source = convolution(3).replace("w float32[4,3,3,3]", "w float32[4,2,3,3]")
    taps = "PAD  STRIDED_SLICE  STRIDED_SLICE  STRIDED_SLICE  CONCATENATION"
    row = "STRIDED_SLICE  SLICE  RESHAPE"
    expected = f"{taps}  {row}  {row}  {PRODUCT}  {PRODUCT}  ADD  ADD"
    assert operators(source, decompose_operators) == expected
    assert_agrees(tmp_path, source)


def test_computed_weights_of_single_pixels_are_one_product(tmp_path: Path) -> None:
    source = """
        input x float32[2,5,7,19]
        input w float32[23,1,1,19]
        constant b float32[23]
        y = CONV_2D(x, w, b) padding=SAME stride_h=1 stride_w=1
        output y
    """
    assert operators(source, decompose_operators) == f"RESHAPE  {PRODUCT}  ADD"
    assert_agrees(tmp_path, source)


def test_groups_are_convolved_one_by_one() -> None:
    found = operators(convolution(6), decompose_operators).split()
    assert found[:2] == ["SPLIT", "SPLIT"] and found[-1] == "CONCATENATION"
    assert found.count("BATCH_MATMUL") == 2 * 3


def test_a_computed_bias_is_added_separately() -> None:
    expected = """
        y/conv_2d0.0 = CONV_2D(x, w, none) padding=SAME stride_h=2 stride_w=1
        y = ADD(y/conv_2d0.0, b)
    """
    assert_becomes(convolution(3, "constant", "input"), expected, decompose_operators)


def test_constants_stay() -> None:
    reason = "^weights and bias are constants$"
    assert_declines(convolution(3, "constant"), reason, decompose_operators)


def test_computed_weights_of_channels_are_an_image(tmp_path: Path) -> None:
    source = """
        input x float32[2,5,19,19]
        input w float32[1,2,3,19]
        constant b float32[19]
        y = DEPTHWISE_CONV_2D(x, w, b) padding=SAME stride_h=2 stride_w=1 depth_multiplier=1
        output y
    """
    expected = (
        "y = tflgpu.correlation(x, w, b) padding=SAME stride_h=2 stride_w=1 depth_multiplier=1"
    )
    assert_becomes(source, expected, decompose_operators)
    assert_agrees(tmp_path, source)


def test_images_are_repeated_for_several_computed_weights_of_a_channel() -> None:
    source = SEVERAL.replace("constant w", "input w")
    expected = "RESHAPE  TILE  RESHAPE  tflgpu.correlation"
    assert operators(source, decompose_operators) == expected


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


def test_groups_of_single_channels_are_a_depthwise_convolution(tmp_path: Path) -> None:
    source = """
        input x float32[2,5,19,7]
        constant w float32[7,2,3,1]
        constant b float32[7]
        y = CONV_2D(x, w, b) padding=SAME stride_h=2 stride_w=1
        output y
    """
    expected = (
        "y = DEPTHWISE_CONV_2D(x, y/constant1, b) padding=SAME stride_h=2 stride_w=1"
        " depth_multiplier=1"
    )
    assert_becomes(source, expected, decompose_operators)
    assert_agrees(tmp_path, source)
