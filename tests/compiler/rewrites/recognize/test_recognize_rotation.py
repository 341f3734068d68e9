"""Rotary embeddings spelled out; numbers are compared in tests/compiler/ops."""

import numpy as np
import pytest
from cases.rotations import in_front, rotations, unlike_rotations
from graphs import Value
from rewriting import assert_becomes, assert_declines, operators

from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites.recognize.recognize_rotation import recognize_rotation

SPELLINGS = {case.situation: case.value for case in rotations()}
OTHERS = {case.situation: case.value for case in unlike_rotations()}


@pytest.mark.parametrize("situation", SPELLINGS)
def test_every_spelling(situation: str) -> None:
    value = SPELLINGS[situation]
    assert isinstance(value, Value)
    found = operators(value, recognize_rotation)
    assert found.count("tflgpu.rotate") == 1 and "CONCATENATION" not in found


@pytest.mark.parametrize("situation", OTHERS)
def test_what_is_no_rotation_stays(situation: str) -> None:
    value = OTHERS[situation]
    assert isinstance(value, Value)
    assert operators(value, recognize_rotation) == operators(value)


def test_heads_are_brought_before_the_rows_afterwards() -> None:
    found = operators(in_front(32), recognize_rotation)
    assert found.index("tflgpu.rotate") < found.index("TRANSPOSE")


SOURCE = """
    input x float32[1,4,1,32]
    input cos float32[1,1,16]
    input sin float32[1,1,16]
    constant size int32[4] = 1, 4, 1, 16
    constant zero int32[4] = 0, 0, 0, 0
    constant half int32[4] = 0, 0, 0, 16
    a = SLICE(x, zero, size)
    b = SLICE(x, half, size)
    r0 = MUL(a, cos)
    r1 = MUL(b, sin)
    r = SUB(r0, r1)
    i0 = MUL(cos, b)
    i1 = MUL(sin, a)
    i = ADD(i1, i0)
    y = CONCATENATION(r, i) axis=3
"""


def test_what_it_becomes() -> None:
    expected = """
        y/reshape0.0 = RESHAPE(cos) new_shape=(-1,16)
        y/reshape1.0 = RESHAPE(sin) new_shape=(-1,16)
        y = tflgpu.rotate(x, y/reshape0.0, y/reshape1.0) depth=32
    """
    assert_becomes(f"{SOURCE}output y", expected, recognize_rotation)


def test_halves_that_are_used_elsewhere_stay() -> None:
    source = f"{SOURCE}output y\noutput r"
    assert_declines(source, "r is also used elsewhere", recognize_rotation)


@pytest.mark.parametrize(
    ("before", "after"),
    [("MUL(a, cos)", "MUL(a, sin)"), ("SUB(r0, r1)", "SUB(r1, r0)"), ("(r, i)", "(i, r)")],
)
def test_other_sums_are_no_rotations(before: str, after: str) -> None:
    found = operators(f"{SOURCE}output y".replace(before, after), recognize_rotation)
    assert "CONCATENATION" in found


def test_the_reference_rotates_halves() -> None:
    row = Tensor("x", (1, 1, 4))
    op = Op("tflgpu.rotate", (row, row, row), (Tensor("y", (1, 1, 4)),), {"depth": 4})
    reference = OPS["tflgpu.rotate"].reference
    assert reference is not None
    tables = np.array([[2.0, 3.0]]), np.array([[5.0, 7.0]])
    found = reference(op, np.array([[[1.0, 10.0, 100.0, 1000.0]]]), *tables)
    assert found.tolist() == [[[2 - 500, 30 - 7000, 200 + 5, 3000 + 70]]]
