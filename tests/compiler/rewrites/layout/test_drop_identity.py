"""Which operators return their input unchanged."""

import pytest
from graphs import call, ints, parts, transpose, x
from rewriting import assert_becomes, operators, rewritten

from tflgpu.compiler.rewrites.layout.merge_moves import drop_identity, merge_transposes

CONSTANTS = """
    constant order int32[4] = 0, 1, 2, 3
    constant pairs int32[4,2] = 0
    constant begin int32[4] = 0
    constant size int32[4] = -1
    constant zero float32[] = 0
    constant ones float32[7] = 1
    constant one float32[1] = 1
"""


@pytest.mark.parametrize(
    "identity",
    [
        "RESHAPE(a) new_shape=(2,3,5,7)",
        "TRANSPOSE(a, order)",
        "PAD(a, pairs)",
        "SLICE(a, begin, size)",
        "CONCATENATION(a) axis=1",
        "ADD(a, zero)",
        "MUL(a, ones)",
        "DIV(a, one)",
    ],
)
def test_an_operator_that_changes_nothing_is_removed(identity: str) -> None:
    source = f"""
        input x float32[2,3,5,7]
        {CONSTANTS}
        a = ABS(x)
        same = {identity}
        y = EXP(same)
        output y
    """
    assert_becomes(source, "a = ABS(x)\n y = EXP(a)", drop_identity)


@pytest.mark.parametrize(
    "operator",
    [
        "TRANSPOSE(x, order)",
        "SUB(x, some)",
        "STRIDED_SLICE(x, from, to, by)",
        "RESHAPE(x) new_shape=(25,)",
    ],
)
def test_an_operator_that_changes_something_stays(operator: str) -> None:
    source = f"""
        input x float32[5,5]
        constant order int32[2] = 1, 0
        constant some float32[5] = 0, 0, 1, 0, 0
        constant from int32[2] = 4
        constant to int32[2] = -9
        constant by int32[2] = -1
        y = {operator}
        output y
    """
    graph, events = rewritten(source, drop_identity)
    assert len(graph) == 1 and events == []


def test_an_operator_that_broadcasts_its_first_operand_stays() -> None:
    source = """
        input x float32[5]
        constant zeros float32[3,5] = 0
        y = ADD(x, zeros)
        output y
    """
    graph, events = rewritten(source, drop_identity)
    assert str(graph) == "y = ADD(x, zeros)" and events == []


def test_a_split_into_one_part_is_removed() -> None:
    (whole,) = parts("SPLIT", 1, ints(-1), x(2, 7, 5, 3), num_splits=1)
    (again,) = parts("SPLIT_V", 1, call("TANH", whole), ints(-1), ints(2), num_splits=1)
    assert operators(call("ABS", again), drop_identity) == "TANH  ABS"


def test_transposes_that_cancel_are_removed() -> None:
    value = transpose(transpose(x(2, 3, 5, 7), 0, 3, 1, 2), 0, 2, 3, 1)
    assert operators(call("TANH", value), merge_transposes, drop_identity) == "TANH"
