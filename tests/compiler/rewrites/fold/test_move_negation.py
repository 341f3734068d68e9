"""Negations that sums and differences absorb."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphs import Value, call, ints, w, x
from rewriting import assert_agrees, assert_becomes, assert_declines, operators

from tflgpu.compiler.rewrites.fold.move_negation import move_negation


def norm(axes: tuple[int, ...]) -> Value:
    """(x - mean) / deviation * gain + offset, as converters write it."""
    image = x(1, 7, 5, 19)
    mean = call("MEAN", image, ints(*axes), keep_dims=True)
    squares = call("SQUARED_DIFFERENCE", image, mean)
    variance = call("MEAN", squares, ints(*axes), keep_dims=True)
    deviation = call("SQRT", call("ADD", variance, w(draw="positive")))
    gain = call("DIV", w(19), deviation)
    return call("ADD", call("MUL", image, gain), call("MUL", call("NEG", mean), gain))


@pytest.mark.parametrize(
    ("reader", "expected"),
    [
        ("ADD(n, b)", "SUB(b, x)"),
        ("ADD(b, n)", "SUB(b, x)"),
        ("SUB(b, n)", "ADD(b, x)"),
    ],
)
def test_a_reader_absorbs_it(reader: str, expected: str) -> None:
    source = f"""
        input x float32[7,5]
        input b float32[7,5]
        n = NEG(x)
        y = {reader}
        output y
    """
    assert_becomes(source, f"y = {expected}", move_negation)


def test_it_moves_through_products() -> None:
    source = """
        input x float32[7,1]
        input a float32[7,5]
        input b float32[7,5]
        n = NEG(x)
        t = MUL(n, a)
        y = ADD(t, b)
        output y
    """
    expected = """
        t/product = MUL(a, x)
        y = SUB(b, t/product)
    """
    assert_becomes(source, expected, move_negation)


def test_a_norm() -> None:
    before = "MEAN  SQUARED_DIFFERENCE  MEAN  ADD  SQRT  DIV  MUL  NEG  MUL  ADD"
    after = "MEAN  SQUARED_DIFFERENCE  MEAN  ADD  SQRT  DIV  MUL  MUL  SUB"
    assert operators(norm((3,))) == before
    assert operators(norm((3,)), move_negation) == after


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (call("SUB", call("NEG", x(7, 5)), x(7, 5)), "the negated value is the minuend"),
        (call("MUL", *[call("NEG", x(7, 5))] * 2), "both operands are the negated value"),
    ],
    ids=["minuend", "square"],
)
def test_it_declines(value: Value, reason: str) -> None:
    assert_declines(value, f"^{reason}$", move_negation)


def test_numbers_agree(tmp_path: Path) -> None:
    difference = call("SUB", call("NEG", x(7, 5)), call("NEG", x(7, 5)))
    assert_agrees(tmp_path, difference, norm((3,)), norm((1, 2, 3)), off=[move_negation])
