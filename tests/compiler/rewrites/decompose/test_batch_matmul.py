"""Matrix products: with constant weights FULLY_CONNECTED, with computed ones BATCH_MATMUL."""

import numpy as np
import pytest
from rewriting import assert_becomes, assert_declines, rewritten

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators


def product(first: str, second: str, adj_y: bool = False) -> str:
    return f"""
        {first}
        {second}
        y = BATCH_MATMUL(x, w) adj_x=False adj_y={adj_y}
        output y
    """


@pytest.mark.parametrize("adj_y", [False, True])
def test_a_constant_matrix_becomes_the_weights_of_a_layer(adj_y: bool) -> None:
    shape = "7,5" if adj_y else "5,7"
    source = product("input x float32[2,3,5]", f"constant w float32[{shape}]", adj_y)
    before, _ = rewritten(source)
    expected = "y = FULLY_CONNECTED(x, y/constant1) keep_num_dims=True"
    graph = assert_becomes(source, expected, decompose_operators)
    matrix = before.ops[0].constant(1)
    np.testing.assert_array_equal(graph.ops[0].constant(1), matrix if adj_y else matrix.T)


def test_a_transposed_first_operand_is_transposed_before() -> None:
    source = """
        input x float32[2,5,3]
        constant w float32[5,7]
        y = BATCH_MATMUL(x, w) adj_x=True adj_y=False
        output y
    """
    expected = """
        y/transpose1.0 = TRANSPOSE(x, y/constant1)
        y = FULLY_CONNECTED(y/transpose1.0, y/constant3) keep_num_dims=True
    """
    graph = assert_becomes(source, expected, decompose_operators)
    assert graph.ops[0].constant(1).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            product("input x float32[2,3,5]", "input w float32[5,7]"),
            "the second operand is not a constant, or both operands are",
        ),
        (
            product("input x float32[2,3,5]", "constant w float32[2,5,7]"),
            "the second operand is not a single matrix",
        ),
        (
            product("input x float32[3,5]", "constant w float32[1,5,7]"),
            "the first operand's rank is not 2 to 4, or is below that of the second",
        ),
    ],
    ids=["computed", "several", "rank"],
)
def test_other_products_stay(source: str, reason: str) -> None:
    assert_declines(source, f"^{reason}$", decompose_operators)


def test_a_layer_with_computed_weights_is_a_product() -> None:
    source = """
        input x float32[3,2,5]
        input w float32[7,5]
        input b float32[7]
        y = FULLY_CONNECTED(x, w, b)
        output y
    """
    expected = """
        y/reshape0.0 = RESHAPE(x) new_shape=(-1,5)
        y/batch_matmul1.0 = BATCH_MATMUL(y/reshape0.0, w) adj_x=False adj_y=True
        y = ADD(y/batch_matmul1.0, b)
    """
    assert_becomes(source, expected, decompose_operators)


def test_a_computed_bias_is_added_separately() -> None:
    source = """
        input x float32[3,5]
        constant w float32[7,5]
        input b float32[7]
        y = FULLY_CONNECTED(x, w, b)
        output y
    """
    expected = """
        y/fully_connected0.0 = FULLY_CONNECTED(x, w, none)
        y = ADD(y/fully_connected0.0, b)
    """
    assert_becomes(source, expected, decompose_operators)
