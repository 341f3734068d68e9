"""GATHER at constant places."""

import pytest
from rewriting import assert_becomes, assert_declines

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators


def taken(places: str, axis: int = 1, batch_dims: int = 0, kind: str = "constant") -> str:
    shape = "2,3" if batch_dims else "3"
    indices = (
        f"constant i int32[{shape}] = {places}"
        if kind == "constant"
        else f"input i int32[{shape}] places"
    )
    return f"""
        input x float32[2,7,5]
        {indices}
        y = GATHER(x, i) axis={axis} batch_dims={batch_dims}
        output y
    """


@pytest.mark.parametrize("axis", [1, -2])
def test_consecutive_places_are_a_slice(axis: int) -> None:
    expected = "y = SLICE(x, y/constant1, y/constant2)"
    graph = assert_becomes(taken("2, 3, 4", axis), expected, decompose_operators)
    (op,) = graph.ops
    assert [op.constant(position).tolist() for position in (1, 2)] == [[0, 2, 0], [2, 3, 5]]


def test_a_single_place_leaves_its_axis_out() -> None:
    source = """
        input x float32[2,7,5]
        constant i int32[] = 6
        y = GATHER(x, i) axis=1 batch_dims=0
        output y
    """
    expected = """
        y/slice2.0 = SLICE(x, y/constant1, y/constant2)
        y = RESHAPE(y/slice2.0) new_shape=(2,5)
    """
    assert_becomes(source, expected, decompose_operators)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (taken("2, 4, 5"), "the indices are not consecutive"),
        (taken("5, 6, 7"), "an index is out of range"),
        (taken("-1, 0, 1"), "an index is out of range"),
        (taken("0, 1, 2, 1, 2, 3", 1, 1), "each entry of the batch has indices of its own"),
        (taken("", kind="input"), "the indices are computed while the model runs"),
    ],
    ids=["apart", "above", "below", "batch", "computed"],
)
def test_it_declines(source: str, reason: str) -> None:
    assert_declines(source, f"^{reason}$", decompose_operators)
