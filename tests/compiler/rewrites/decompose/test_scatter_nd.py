"""SCATTER_ND with constant indices."""

import pytest
from rewriting import assert_becomes, assert_declines

from tflgpu.compiler.rewrites.decompose.decomposition import decompose_operators


def scatter(places: str, rows: int = 6000, kind: str = "constant") -> str:
    indices = (
        f"constant i int32[3,1] = {places}" if kind == "constant" else "input i int32[3,1] places"
    )
    return f"""
        {indices}
        input u float32[3,5]
        constant s int32[2] = {rows}, 5
        y = SCATTER_ND(i, u, s)
        output y
    """


def test_each_row_is_gathered_or_zero() -> None:
    expected = """
        y/pad1.0 = PAD(u, y/constant1)
        y = GATHER(y/pad1.0, y/constant3) axis=0 batch_dims=0
    """
    graph = assert_becomes(scatter("4, 0, 2"), expected, decompose_operators)
    rows = graph.ops[1].constant(1)
    # The row of zeros, which is appended, is the fourth.
    assert rows[:6].tolist() == [1, 3, 2, 3, 0, 3] and set(rows[6:].tolist()) == {3}


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (scatter("4, 0, 2", rows=6), "the output is small enough for the SCATTER_ND kernel"),
        (scatter("4, 0, 4"), "several updates to the same element must be summed"),
        (scatter("4, 0, 6000"), "an index is out of range"),
        (scatter("", kind="input"), "the indices are computed while the model runs"),
    ],
    ids=["small", "twice", "outside", "computed"],
)
def test_it_declines(source: str, reason: str) -> None:
    assert_declines(source, f"^{reason}$", decompose_operators)
