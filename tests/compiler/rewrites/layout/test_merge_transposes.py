"""Consecutive transposes."""

from pathlib import Path

import numpy as np
from graphs import call, transpose, x
from rewriting import assert_agrees, operators, rewritten

from tflgpu.compiler.rewrites.layout.merge_moves import merge_transposes

FIRST = (0, 3, 1, 2)


def test_two_transposes_become_one() -> None:
    value = transpose(transpose(x(2, 3, 5, 7), *FIRST), *FIRST)
    assert operators(value) == "TRANSPOSE  TRANSPOSE"
    graph, _ = rewritten(value, merge_transposes)
    (op,) = graph.ops
    assert op.name == "TRANSPOSE" and op.operand(0) is graph.inputs[0]
    np.testing.assert_array_equal(op.constant(1), [0, 2, 3, 1])


def test_the_first_one_stays_where_others_read_it() -> None:
    image = transpose(x(2, 5, 7, 6), *FIRST)
    both = [transpose(image, 0, 1, 3, 2), call("TANH", image)]
    graph, events = rewritten(both, merge_transposes)
    assert len(events) == 1
    assert sorted(op.name for op in graph.ops) == ["TANH", "TRANSPOSE", "TRANSPOSE"]
    source = graph.inputs[0]
    assert all(op.operand(0) is source for op in graph.ops if op.name == "TRANSPOSE")


def test_numbers_agree(tmp_path: Path) -> None:
    values = [
        transpose(transpose(x(2, 3, 5, 7), *FIRST), *FIRST),
        transpose(transpose(x(2, 3, 5, 7), *FIRST), 0, 2, 3, 1),
    ]
    assert_agrees(tmp_path, *values, off=[merge_transposes])
