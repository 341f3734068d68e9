"""Blocks of rows become blocks of images."""

import pytest
from rewriting import assert_becomes, assert_declines, rewritten

from tflgpu.compiler import ModelError, UnsupportedError
from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators

ROWS = """
    input x float32[2,6,3]
    constant b int32[1] = 2
    constant p int32[1,2] = 1, 1
    y = SPACE_TO_BATCH_ND(x, b, p)
    output y
"""


def test_a_second_axis_of_size_1() -> None:
    expected = """
        y/reshape0.0 = RESHAPE(x) new_shape=(2,6,1,3)
        y/space_to_batch_nd3.0 = SPACE_TO_BATCH_ND(y/reshape0.0, y/constant2, y/constant3)
        y = RESHAPE(y/space_to_batch_nd3.0) new_shape=(4,4,3)
    """
    graph = assert_becomes(ROWS, expected, decompose_operators)
    blocks = graph.ops[1]
    assert blocks.constant(1).tolist() == [2, 1]
    assert blocks.constant(2).tolist() == [[1, 1], [0, 0]]


def test_images_stay() -> None:
    source = """
        input x float32[2,6,4,3]
        constant b int32[2] = 2, 1
        constant p int32[2,2] = 0
        y = SPACE_TO_BATCH_ND(x, b, p)
        output y
    """
    assert_declines(source, "^it already has rank 4$", decompose_operators)


def test_other_ranks_are_refused() -> None:
    source = ROWS.replace("[2,6,3]", "[2,6,3,5,1]")
    with pytest.raises(ModelError, match=r"input \[2, 6, 3, 5, 1\] must have rank 3 or 4"):
        rewritten(source, decompose_operators)


def test_two_blocks_of_rank_3_are_refused() -> None:
    source = ROWS.replace("int32[1] = 2", "int32[2] = 2, 1")
    source = source.replace("int32[1,2] = 1, 1", "int32[2,2] = 1, 1, 0, 0")
    with pytest.raises(UnsupportedError, match=r"its input has rank 3 and blocks of \[2, 1\]"):
        rewritten(source, decompose_operators)
