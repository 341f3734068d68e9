"""Sums, norms and selections as elementwise operators and reductions.

Numbers are compared in tests/compiler/ops, here and in the other tests of decompositions.
"""

import numpy as np
import pytest
from graphs import Input, known, typed
from rewriting import assert_becomes, assert_declines, rewritten

from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators

DECOMPOSITIONS = {
    "ADD_N": (
        """
        input a float32[3,5]
        input b float32[3,5]
        input c float32[3,5]
        y = ADD_N(a, b, c)
        """,
        """
        y/add0.0 = ADD(a, b)
        y = ADD(y/add0.0, c)
        """,
    ),
    "SELECT": (
        """
        input c bool[3] truth
        input a float32[3,5]
        input b float32[3,5]
        y = SELECT(c, a, b)
        """,
        """
        y/reshape0.0 = RESHAPE(c) new_shape=(3,1)
        y = SELECT_V2(y/reshape0.0, a, b)
        """,
    ),
    "SELECT_V2": (
        """
        input t float32[1,5,3]
        input a float32[1,1,3]
        input b float32[1,5,3]
        constant first bool[5,1] = 0, 1, 0, 0, 0
        constant second bool[1,5,1] = 0, 1, 1, 1, 0
        constant zero float32[] = 0
        constant third bool[1,5,1] = 1, 0, 0, 0, 0
        u = SELECT_V2(first, a, t)
        v = SELECT_V2(second, b, u)
        w = SELECT_V2(third, zero, v)
        y = SELECT_V2(first, a, w)
        """,
        """
        y/slice3.0 = SLICE(b, y/constant2, y/constant3)
        y/slice6.0 = SLICE(t, y/constant5, y/constant6)
        y = CONCATENATION(y/constant1, a, y/slice3.0, y/slice6.0) axis=1
        """,
    ),
    "FILL": (
        """
        input v float32[1]
        constant s int32[2] = 3, 5
        y = FILL(s, v)
        """,
        """
        y/reshape0.0 = RESHAPE(v) new_shape=()
        y = BROADCAST_TO(y/reshape0.0, s)
        """,
    ),
    "EMBEDDING_LOOKUP": (
        """
        input i int32[4] places
        constant t float32[5,7]
        y = EMBEDDING_LOOKUP(i, t)
        """,
        "y = GATHER(t, i) axis=0 batch_dims=0",
    ),
    "L2_NORMALIZATION": (
        """
        input x float32[2,7]
        y = L2_NORMALIZATION(x)
        """,
        """
        y/square0.0 = SQUARE(x)
        y/sum2.0 = SUM(y/square0.0, y/constant2) keep_dims=True
        y/sqrt4.0 = SQRT(y/sum2.0)
        y/maximum5.0 = MAXIMUM(y/constant4, y/sqrt4.0)
        y = DIV(x, y/maximum5.0)
        """,
    ),
    "LOG_SOFTMAX": (
        """
        input x float32[2,7]
        y = LOG_SOFTMAX(x)
        """,
        """
        y/reduce_max1.0 = REDUCE_MAX(x, y/constant1) keep_dims=True
        y/sub2.0 = SUB(x, y/reduce_max1.0)
        y/exp3.0 = EXP(y/sub2.0)
        y/sum5.0 = SUM(y/exp3.0, y/constant5) keep_dims=True
        y/log6.0 = LOG(y/sum5.0)
        y = SUB(y/sub2.0, y/log6.0)
        """,
    ),
    "LOCAL_RESPONSE_NORMALIZATION": (
        """
        input x float32[1,3,5,4]
        y = LOCAL_RESPONSE_NORMALIZATION(x) radius=1 bias=2.0 alpha=0.5 beta=0.75
        """,
        """
        y/square2.0 = SQUARE(x)
        y/conv_2d3.0 = CONV_2D(y/square2.0, y/constant1, y/constant2) padding=VALID \
stride_h=1 stride_w=1
        y/pow5.0 = POW(y/conv_2d3.0, y/constant5)
        y = MUL(x, y/pow5.0)
        """,
    ),
}


@pytest.mark.parametrize("name", DECOMPOSITIONS)
def test_the_operators_that_replace_one(name: str) -> None:
    source, expected = DECOMPOSITIONS[name]
    assert_becomes(f"{source}\n output y", expected, decompose_operators)


def test_nearby_channels_are_summed_by_a_band_matrix() -> None:
    source, expected = DECOMPOSITIONS["LOCAL_RESPONSE_NORMALIZATION"]
    graph = assert_becomes(f"{source}\n output y", expected, decompose_operators)
    _, convolution, power, _ = graph.ops
    band = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    np.testing.assert_array_equal(convolution.constant(1)[:, 0, 0], 0.5 * np.array(band))
    np.testing.assert_array_equal(convolution.constant(2), [2.0] * 4)
    assert power.constant(1) == -0.75


def test_a_condition_that_broadcasts_stays() -> None:
    source = """
        input c bool[5] truth
        input a float32[5]
        input b float32[5]
        y = SELECT(c, a, b)
        output y
    """
    assert_declines(source, "^the condition already broadcasts$", decompose_operators)


def test_rows_have_the_type_of_their_table() -> None:
    rows = typed(
        "int32", "EMBEDDING_LOOKUP", Input((2,), "places", "int32"), known(np.eye(4, dtype="f"))
    )
    message = "^operator 0 EMBEDDING_LOOKUP: its result is int32, but its table is float32$"
    with pytest.raises(ModelError, match=message):
        rewritten(rows, decompose_operators)
