"""Depthwise convolutions with several outputs per channel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rewriting import assert_agrees, assert_becomes, assert_declines, rewritten

from tflgpu.compiler.rewrites.decompose.convolution import depthwise_to_grouped

SEVERAL = """
    input x float32[1,5,7,7]
    constant w float32[1,3,5,14]
    constant b float32[14]
    y = DEPTHWISE_CONV_2D(x, w, b) padding=VALID stride_h=1 stride_w=1 depth_multiplier=2
    output y
"""


def test_several_outputs_per_channel_are_a_grouped_convolution() -> None:
    before, _ = rewritten(SEVERAL)
    expected = "y = CONV_2D(x, w/grouped, b) padding=VALID stride_h=1 stride_w=1"
    graph = assert_becomes(SEVERAL, expected, depthwise_to_grouped)
    weights = before.ops[0].constant(1)
    np.testing.assert_array_equal(graph.ops[0].constant(1)[..., 0], weights[0].transpose(2, 0, 1))


def test_one_output_per_channel_stays() -> None:
    source = SEVERAL.replace("14]", "7]").replace("multiplier=2", "multiplier=1")
    assert_declines(source, "^it has one output per channel$", depthwise_to_grouped)


def test_computed_weights_stay() -> None:
    source = SEVERAL.replace("constant w", "input w")
    assert_declines(source, "^the weights are computed while the model runs$", depthwise_to_grouped)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, SEVERAL)
