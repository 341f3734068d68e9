"""Slices of concatenations."""

from pathlib import Path

import numpy as np
import pytest
from rewriting import assert_agrees, assert_becomes, assert_declines

from tflgpu.compiler.rewrites.layout.take_parts_of_concat import take_parts_of_concat

JOINED = """
    input a float32[1,2,5]
    input b float32[1,3,5]
    constant c float32[1,4,5] = 7
    constant one int32[3] = 1
    t = CONCATENATION(a, b, c) axis=1
"""


def taken(start: int, stop: int, **masks: int) -> str:
    """Rows of the concatenation by STRIDED_SLICE, which may drop axes."""
    text = " ".join(f"{name}={mask}" for name, mask in {"begin_mask": 5, **masks}.items())
    return f"""{JOINED}
    constant begin int32[3] = 0, {start}, 0
    constant end int32[3] = 0, {stop}, 0
    y = STRIDED_SLICE(t, begin, end, one) {text} end_mask=5
    output y
"""


def test_a_whole_operand_is_read_itself() -> None:
    assert_becomes(f"{taken(2, 5)} z = TANH(y)\n output z", "z = TANH(b)", take_parts_of_concat)


def test_several_operands_are_concatenated() -> None:
    graph = assert_becomes(taken(0, 5), "y = CONCATENATION(a, b) axis=1", take_parts_of_concat)
    assert graph.outputs[0].shape == (1, 5, 5)


def test_axes_that_a_slice_drops_are_dropped() -> None:
    source = f"""{JOINED}
    constant begin int32[3] = 0, 0, 0
    constant end int32[3] = 1, 2, 0
    y = STRIDED_SLICE(t, begin, end, one) begin_mask=6 end_mask=4 shrink_axis_mask=1
    output y
"""
    assert_becomes(source, "y = RESHAPE(a) new_shape=(2,5)", take_parts_of_concat)


def test_a_part_of_a_constant_is_cut_while_compiling() -> None:
    graph = assert_becomes(taken(2, 8), "y = CONCATENATION(b, y/c) axis=1", take_parts_of_concat)
    cut = graph.producer(graph.outputs[0]).operand(1)  # type: ignore[union-attr]
    np.testing.assert_array_equal(cut.data, np.full((1, 3, 5), 7))


@pytest.mark.parametrize(("start", "stop"), [(1, 5), (2, 4)])
def test_a_part_of_a_computed_operand_stays_a_slice(start: int, stop: int) -> None:
    assert_declines(taken(start, stop), "it takes a part of an operand", take_parts_of_concat)


def test_several_operands_stay_together_if_others_read_them_too() -> None:
    source = f"{taken(0, 5)} z = TANH(t)\n output z"
    assert_declines(source, "the concatenation stays", take_parts_of_concat)


@pytest.mark.parametrize(("start", "stop"), [(2, 5), (0, 5), (2, 8), (1, 5)])
def test_numbers_agree(start: int, stop: int, tmp_path: Path) -> None:
    assert_agrees(tmp_path, taken(start, stop), off=[take_parts_of_concat])
