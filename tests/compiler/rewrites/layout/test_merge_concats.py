"""Concatenations of concatenations."""

from pathlib import Path

from rewriting import assert_agrees, assert_becomes, assert_declines, rewritten

from tflgpu.compiler.rewrites.layout.merge_moves import merge_concats

INPUTS = """
    input a float32[1,2,5]
    input b float32[1,3,5]
    t = CONCATENATION(a, b) axis=1
"""
NESTED = f"{INPUTS} y = CONCATENATION(b, t, a) axis=-2\n output y"


def test_operands_take_their_place() -> None:
    assert_becomes(NESTED, "y = CONCATENATION(b, a, b, a) axis=-2", merge_concats)


def test_other_axes_stay() -> None:
    source = f"{INPUTS} y = CONCATENATION(t, t) axis=2\n output y"
    assert_declines(source, "they concatenate along different axes", merge_concats)


def test_one_that_is_taken_twice_stays() -> None:
    """Or a chain of them would double with each."""
    source = f"{INPUTS} y = CONCATENATION(t, t) axis=1\n output y"
    assert_declines(source, "its result is taken more than once", merge_concats)


def test_one_that_others_read_stays() -> None:
    graph, events = rewritten(f"{NESTED}, t", merge_concats)
    assert len(graph) == 2 and events == []


def test_numbers_agree(tmp_path: Path) -> None:
    assert_agrees(tmp_path, NESTED, off=[merge_concats])
