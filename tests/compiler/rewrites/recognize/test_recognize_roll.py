"""Tensors that are cut in two and joined the other way round."""

from pathlib import Path

from cases.moves import rolled
from rewriting import assert_agrees, assert_becomes, assert_declines, kernels, operators

from tflgpu.compiler.rewrites.recognize.recognize_roll import recognize_roll

CUT = """
    input x float32[1,5,4,3]
    constant zero int32[4] = 0
    constant begin int32[4] = 0, 2, 0, 0
    constant rest int32[4] = 1, 3, 4, 3
    constant beginning int32[4] = 1, 2, 4, 3
    constant less int32[4] = 1, 1, 4, 3
    end = SLICE(x, begin, rest)
    start = SLICE(x, zero, beginning)
    short = SLICE(x, zero, less)
"""


def test_both_parts_of_a_tensor_are_rolled() -> None:
    source = f"{CUT} y = CONCATENATION(end, start) axis=1\n output y"
    assert_becomes(source, "y = tflgpu.roll(x) starts=(0,2,0,0)", recognize_roll)


def test_parts_that_others_read_stay() -> None:
    source = f"{CUT} y = CONCATENATION(end, start) axis=1\n z = TANH(end)\n output y\n output z"
    expected = """
        end = SLICE(x, begin, rest)
        y = tflgpu.roll(x) starts=(0,2,0,0)
        z = TANH(end)
    """
    assert_becomes(source, expected, recognize_roll)


def test_rolls_along_several_axes_are_one() -> None:
    assert operators(rolled((2, 5, 7, 3), {2: 3, 1: 4}), recognize_roll) == "tflgpu.roll"
    assert kernels(rolled((1, 8, 8, 32), {1: 2, 2: 5})) == 1


def test_other_parts_are_joined_as_before() -> None:
    for parts in ("start, end", "end, short", "end, start, start", "end, end"):
        source = f"{CUT} y = CONCATENATION({parts}) axis=1\n output y"
        assert "tflgpu.roll" not in operators(source, recognize_roll)


def test_rows_are_not_moved_in_pieces() -> None:
    reason = "rows would be moved in pieces"
    assert_declines(rolled((2, 5, 7), {2: 3}), reason, recognize_roll)


def test_results_agree(tmp_path: Path) -> None:
    rolls = [rolled((2, 5, 7, 19), {1: 2, 2: 6}), rolled((3, 5, 7), {1: 2, 0: 1})]
    assert_agrees(tmp_path, *rolls, off=[recognize_roll])
