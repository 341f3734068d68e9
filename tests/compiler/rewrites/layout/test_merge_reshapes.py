"""Consecutive reshapes."""

from pathlib import Path

from rewriting import assert_agrees, assert_becomes, rewritten

from tflgpu.compiler.rewrites.layout.merge_moves import merge_reshapes

PAIR = """
    input x float32[1,7,5,3]
    t = RESHAPE(x) new_shape=(1,35,3)
    y = SQUEEZE(t) squeeze_dims=(0,)
    output y
"""


def test_two_reshapes_become_one() -> None:
    assert_becomes(PAIR, "y = RESHAPE(x) new_shape=(35,3)", merge_reshapes)


def test_a_reshape_that_others_read_stays() -> None:
    graph, events = rewritten(f"{PAIR} z = TANH(t)\n output z", merge_reshapes)
    assert len(graph) == 3 and events == []


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, PAIR, off=[merge_reshapes])
