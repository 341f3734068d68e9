"""Every output of the model gets memory of its own."""

from rewriting import assert_becomes

from tflgpu.compiler.rewrites.fuse.separate_outputs import separate_outputs


def test_inputs_and_views_are_copied() -> None:
    source = """
        input x float32[2,3]
        view = RESHAPE(x) new_shape=(6,)
        y = EXP(x)
        again = RESHAPE(y) new_shape=(3,2)
        output x, view, y, again
    """
    expected = """
        view = RESHAPE(x) new_shape=(6,)
        y = EXP(x)
        again = RESHAPE(y) new_shape=(3,2)
        x/output = tflgpu.copy(x)
        view/output = tflgpu.copy(view)
        again/output = tflgpu.copy(again)
    """
    graph = assert_becomes(source, expected, separate_outputs)
    assert [t.name for t in graph.outputs] == ["x/output", "view/output", "y", "again/output"]
    assert graph.output_names == ["x", "view", "y", "again"]


def test_an_output_that_is_given_twice_is_copied_once() -> None:
    source = """
        input x float32[2,3]
        y = EXP(x)
        output y, y
    """
    expected = """
        y = EXP(x)
        y/output = tflgpu.copy(y)
    """
    graph = assert_becomes(source, expected, separate_outputs)
    assert [tensor.name for tensor in graph.outputs] == ["y", "y/output"]


def test_a_constant_is_copied() -> None:
    source = """
        input x float32[2,3]
        constant c float32[5]
        y = EXP(x)
        output y, c
    """
    expected = """
        y = EXP(x)
        c/output = tflgpu.copy(c)
    """
    assert_becomes(source, expected, separate_outputs)
