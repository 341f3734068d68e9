"""Reductions that keep the axes which reshapes bring back."""

from pathlib import Path

from rewriting import assert_agrees, assert_becomes, assert_declines

from tflgpu.compiler.rewrites.layout.keep_reduced_axes import keep_reduced_axes

STATISTICS = """
    input x float32[2,5,19]
    constant channels int32[1] = 2
    m = MEAN(x, channels)
    s = SUM(x, channels)
    p = MUL(m, s)
    r = RSQRT(p)
    u = RESHAPE(m) new_shape=(2,5,1)
    v = RESHAPE(r) new_shape=(2,5,1)
    y = ADD(u, v)
    output y
"""


def test_several_reductions_with_arithmetic_between(tmp_path: Path) -> None:
    expected = """
        m = MEAN(x, channels) keep_dims=True
        s = SUM(x, channels) keep_dims=True
        p = MUL(m, s)
        r = RSQRT(p)
        y = ADD(m, r)
    """
    assert_becomes(STATISTICS, expected, keep_reduced_axes)
    assert_agrees(tmp_path, STATISTICS)


def test_results_that_are_used_without_the_axes() -> None:
    source = """
        input x float32[2,5,19]
        constant channels int32[1] = 2
        m = MEAN(x, channels)
        r = RSQRT(m)
        u = RESHAPE(r) new_shape=(2,5,1)
        z = TANH(u)
        y = TANH(r)
        output z
        output y
    """
    assert_declines(source, "also used without the reduced axes", keep_reduced_axes)
