"""Reductions of transposed tensors."""

from pathlib import Path

import pytest
from graphs import Value, call, ints, transpose, x
from graphs.channels_first import FIRST
from rewriting import assert_agrees, assert_becomes, assert_declines, operators

from tflgpu.compiler.rewrites.layout.fold_transposes import fold_transpose_into_reduction


def averaged(keep: bool, *axes: int) -> Value:
    return call("MEAN", transpose(x(3, 2, 5, 7), *FIRST), ints(*axes), keep_dims=keep)


@pytest.mark.parametrize("keep", [False, True])
def test_a_mean_reads_the_input_of_the_transpose(keep: bool) -> None:
    value = averaged(keep, 2, 3)
    assert operators(value, fold_transpose_into_reduction) == "MEAN  RESHAPE"


def test_the_transpose_stays_if_others_read_it() -> None:
    source = """
        input x float32[1,7,5,19]
        constant order int32[4] = 0, 3, 1, 2
        constant pixels int32[2] = 2, 3
        t = TRANSPOSE(x, order)
        y = SUM(t, pixels) keep_dims=False
        z = TANH(t)
        output y, z
    """
    expected = """
        t = TRANSPOSE(x, order)
        y/sum1.0 = SUM(x, y/constant1) keep_dims=True
        y = RESHAPE(y/sum1.0) new_shape=(1,19)
        z = TANH(t)
    """
    graph = assert_becomes(source, expected, fold_transpose_into_reduction)
    (total,) = (op for op in graph.ops if op.name == "SUM")
    assert total.constant(1).tolist() == [1, 2] and total.output.shape == (1, 1, 1, 19)


def test_it_declines_if_the_remaining_axes_change_their_order() -> None:
    reason = "^the remaining axes change their order$"
    assert_declines(averaged(False, 3), reason, fold_transpose_into_reduction)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, averaged(False, 2, 3), averaged(True, 1, 2))
