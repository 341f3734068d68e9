"""Activations in the options of operators."""

import pytest
from rewriting import assert_becomes, rewritten

from tflgpu.compiler import ModelError
from tflgpu.compiler.rewrites.decompose.split_activation import split_activation


def test_an_activation_becomes_an_operator() -> None:
    source = """
        input x float32[1,5,7,3]
        constant w float32[11,3,3,3]
        y = CONV_2D(x, w) padding=VALID stride_h=1 stride_w=1 fused_activation_function=RELU6
        output y
    """
    expected = """
        y/before_relu6 = CONV_2D(x, w) padding=VALID stride_h=1 stride_w=1 \
fused_activation_function=NONE
        y = RELU6(y/before_relu6)
    """
    assert_becomes(source, expected, split_activation)


def test_an_unknown_activation_is_refused() -> None:
    source = """
        input x float32[5]
        constant w float32[5]
        y = ADD(x, w) fused_activation_function=SIGN_BIT
        output y
    """
    with pytest.raises(ModelError, match="operator 0 ADD has the unknown activation 'SIGN_BIT'"):
        rewritten(source, split_activation)
