"""Inputs of fully connected layers become rows of the weights' width."""

from pathlib import Path

from rewriting import assert_agrees, assert_becomes, assert_declines

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators


def layer(shape: str, keep: bool = False) -> str:
    return f"""
        input x float32[{shape}]
        constant w float32[11,105]
        y = FULLY_CONNECTED(x, w, none) keep_num_dims={keep}
        output y
    """


def test_an_image_becomes_a_row() -> None:
    expected = """
        y/reshape0.0 = RESHAPE(x) new_shape=(2,105)
        y = FULLY_CONNECTED(y/reshape0.0, w, none) keep_num_dims=False
    """
    assert_becomes(layer("2,3,5,7"), expected, decompose_operators)


def test_axes_above_four_are_merged_and_given_back() -> None:
    expected = """
        y/reshape0.0 = RESHAPE(x) new_shape=(24,105)
        y/fully_connected1.0 = FULLY_CONNECTED(y/reshape0.0, w, none) keep_num_dims=True
        y = RESHAPE(y/fully_connected1.0) new_shape=(2,1,3,4,11)
    """
    assert_becomes(layer("2,1,3,4,105", keep=True), expected, decompose_operators)


def test_rows_stay() -> None:
    reason = "^weights and bias are constants$"
    assert_declines(layer("2,105"), reason, decompose_operators)
    assert_declines(layer("2,3,4,105", keep=True), reason, decompose_operators)


def test_numbers_agree(tmp_path: Path) -> None:
    sources = [layer("2,3,5,7"), layer("2,105"), layer("2,3,4,105", keep=True)]
    assert_agrees(tmp_path, *sources)
