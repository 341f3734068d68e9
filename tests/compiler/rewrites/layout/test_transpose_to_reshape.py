"""Transposes that only move axes of size 1."""

from pathlib import Path

from graphs import transpose, x
from rewriting import assert_agrees, assert_becomes, assert_declines

from tflgpu.compiler.rewrites.layout.merge_moves import transpose_to_reshape

ONES = """
    input x float32[1,7,1,3]
    constant order int32[4] = 2, 1, 0, 3
    y = TRANSPOSE(x, order)
    output y
"""


def test_moving_axes_of_size_1_is_a_reshape() -> None:
    assert_becomes(ONES, "y = RESHAPE(x) new_shape=(1,7,1,3)", transpose_to_reshape)
    source = ONES.replace("2, 1, 0, 3", "1, 0, 3, 2")
    assert_becomes(source, "y = RESHAPE(x) new_shape=(7,1,3,1)", transpose_to_reshape)


def test_moving_larger_axes_is_not() -> None:
    value = transpose(x(1, 7, 5, 3), 0, 2, 1, 3)
    assert_declines(value, "^axes larger than 1 change their order$", transpose_to_reshape)


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, ONES, off=[transpose_to_reshape])
