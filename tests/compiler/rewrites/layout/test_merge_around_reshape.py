"""Transposes before and after a reshape."""

from graphs import reshape, transpose, x
from rewriting import assert_becomes, assert_declines, operators

from tflgpu.compiler.rewrites.layout.around_reshapes import merge_around_reshape
from tflgpu.compiler.rewrites.layout.merge_moves import drop_identity


def test_the_first_transpose_moves_after_the_reshape() -> None:
    source = """
        input x float32[1,5,7,6]
        constant first int32[4] = 0, 3, 1, 2
        constant second int32[5] = 0, 2, 1, 3, 4
        t = TRANSPOSE(x, first)
        r = RESHAPE(t) new_shape=(1,2,3,5,7)
        y = TRANSPOSE(r, second)
        output y
    """
    expected = """
        y/between = RESHAPE(x) new_shape=(1,5,7,2,3)
        y = TRANSPOSE(y/between, y/order)
    """
    graph = assert_becomes(source, expected, merge_around_reshape)
    assert graph.ops[1].constant(1).tolist() == [0, 4, 3, 1, 2]


def test_transposes_around_a_reshape_can_cancel() -> None:
    source = """
        input x float32[1,5,7,3]
        constant first int32[4] = 0, 3, 1, 2
        constant back int32[3] = 0, 2, 1
        t = TRANSPOSE(x, first)
        r = RESHAPE(t) new_shape=(1,3,35)
        y = TRANSPOSE(r, back)
        output y
    """
    expected = "y/between = RESHAPE(x) new_shape=(1,35,3)"
    assert_becomes(source, expected, merge_around_reshape, drop_identity)


def test_the_second_transpose_moves_before_the_reshape() -> None:
    source = """
        input x float32[2,4,3,5]
        constant first int32[4] = 0, 1, 3, 2
        constant second int32[3] = 0, 2, 1
        t = TRANSPOSE(x, first)
        r = RESHAPE(t) new_shape=(2,20,3)
        y = TRANSPOSE(r, second)
        output y
    """
    expected = """
        y/between = TRANSPOSE(x, y/order)
        y = RESHAPE(y/between) new_shape=(2,3,20)
    """
    graph = assert_becomes(source, expected, merge_around_reshape)
    assert graph.ops[0].constant(1).tolist() == [0, 2, 1, 3]


def test_what_stays() -> None:
    torn = reshape(transpose(x(4, 6, 5), 1, 0, 2), 4, 6, 5)
    reason = "^the reshape merges axes that are adjacent only between the transposes$"
    assert_declines(transpose(torn, 1, 0, 2), reason, merge_around_reshape)
    apart = reshape(transpose(x(3, 5, 7), 0, 2, 1), 21, 5)
    assert operators(transpose(apart, 1, 0), merge_around_reshape) == "TRANSPOSE  RESHAPE"
