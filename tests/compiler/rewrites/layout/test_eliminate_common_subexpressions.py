"""Operators that compute the same result from the same inputs are merged."""

from pathlib import Path

import pytest
from graphs.operators import graph_of
from rewriting import assert_agrees, assert_becomes, rewritten

from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.rewrites.layout.eliminate_common_subexpressions import (
    eliminate_common_subexpressions,
)
from tflgpu.compiler.target import Target

POOL = "MAX_POOL_2D(x) filter_height=2 filter_width=2 padding=VALID stride_h=1 stride_w=1"

TWICE = f"""
    input x float32[1,7,5,3]
    a = {POOL}
    b = TANH(a)
    c = {POOL}
    d = TANH(c)
    y = ADD(b, d)
    output y
"""


def test_readers_of_merged_results_are_merged_in_turn() -> None:
    expected = f"a = {POOL}\n b = TANH(a)\n y = ADD(b, b)"
    assert_becomes(TWICE, expected, eliminate_common_subexpressions)


def test_constants_are_compared_by_content() -> None:
    source = """
        input x float32[5]
        constant a float32[5] = 1, 2, 3, 4, 5
        constant same float32[5] = 1, 2, 3, 4, 5
        constant other float32[5] = 1, 2, 3, 4, 6
        p = MUL(x, a)
        q = MUL(x, same)
        r = MUL(x, other)
        s = SUB(p, q)
        y = SUB(s, r)
        output y
    """
    expected = """
        p = MUL(x, a)
        r = MUL(x, other)
        s = SUB(p, p)
        y = SUB(s, r)
    """
    assert_becomes(source, expected, eliminate_common_subexpressions)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("RELU(x)", "RELU6(x)"),
        ("SUB(x, z)", "SUB(z, x)"),
        ("LEAKY_RELU(x) alpha=0.25", "LEAKY_RELU(x) alpha=0.5"),
        ("MUL(x, one)", "MUL(x, large)"),
    ],
)
def test_different_results_stay(first: str, second: str) -> None:
    source = f"""
        input x float32[1,5]
        input z float32[1,5]
        constant one float32[1] = 2
        constant large float32[1025,1] = 2
        a = {first}
        b = {second}
        y = ADD(a, b)
        output y
    """
    graph, events = rewritten(source, eliminate_common_subexpressions)
    assert len(graph) == 3 and events == []


def test_operators_only_litert_knows_stay() -> None:
    """They may draw numbers, or count how often they run."""
    source = Tensor("x", (1, 5))
    graph = graph_of(*(Op("Unknown", (source,), (Tensor(name, (1, 5)),)) for name in "yz"))
    assert not eliminate_common_subexpressions(graph, Target(profile("cpu")))
    assert len(graph) == 2


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, TWICE, off=[eliminate_common_subexpressions])
