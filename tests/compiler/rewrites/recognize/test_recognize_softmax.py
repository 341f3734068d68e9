"""A softmax written as exponentials and their sum; numbers are compared in tests/compiler/ops."""

import pytest
from cases.spellings import softmax
from graphs import Value, call, ints, w, x
from rewriting import assert_becomes, assert_declines, kernels, operators

from tflgpu.compiler.rewrites.recognize.recognize_softmax import recognize_softmax


def image() -> Value:
    return x(2, 3, 5, 19)


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize(("axis", "found"), [(-1, 3), (1, 1)])
def test_a_softmax_over_an_axis(shifted: bool, axis: int, found: int) -> None:
    value = softmax(image(), shifted, axis)
    assert_becomes(value, f"y = SOFTMAX(y/in0) beta=1.0 axis={found}", recognize_softmax)
    assert kernels(value) == 1


def test_a_softmax_of_differences_keeps_them() -> None:
    value = softmax(call("SUB", image(), w(19)), shifted=False)
    assert operators(value, recognize_softmax) == "SUB  SOFTMAX"


def over(numerator: Value, denominator: Value, *axes: int) -> Value:
    return call("DIV", numerator, call("SUM", denominator, ints(*axes), keep_dims=True))


def without_the_axis(name: str, value: Value) -> Value:
    """A sum or a maximum of the rows of a square, which then are taken for its columns."""
    return call(name, value, ints(1))


def test_a_maximum_of_other_rows_is_subtracted() -> None:
    square = x(5, 5)
    value = softmax(call("SUB", square, without_the_axis("REDUCE_MAX", square)), shifted=False)
    assert operators(value, recognize_softmax) == "REDUCE_MAX  SUB  SOFTMAX"


def needed() -> list[Value]:
    powers = call("EXP", image())
    return [over(powers, powers, 3), call("NEG", powers)]


POWERS = call("EXP", image())
SQUARE = call("EXP", x(5, 5))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (over(POWERS, POWERS, 1, 2), "the sum is not over a single axis, or does not keep it"),
        (
            call("DIV", SQUARE, without_the_axis("SUM", SQUARE)),
            "the sum is not over a single axis, or does not keep it",
        ),
        (over(image(), image(), 3), "the sum is not of exponentials"),
        (over(w(19), POWERS, 3), "the exponentials are not divided by their sum"),
        (needed(), "y/EXP0.0 is also used elsewhere"),
        (
            softmax(x(1, 2, 3000, 8), shifted=True, axis=2),
            "its few long lines across rows keep a device less busy than the steps",
        ),
    ],
    ids=[
        *("two axes", "no axis", "no exponentials", "another quotient", "exponentials are needed"),
        "few lines",
    ],
)
def test_it_declines(value: Value | list[Value], reason: str) -> None:
    assert_declines(value, f"^{reason}$", recognize_softmax)
