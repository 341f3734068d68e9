"""Truth values that kernels compute in floats instead of storing them."""

from pathlib import Path
from typing import Any

import pytest
from graphs import Value, call, number, table, typed, w, x, xi
from rewriting import assert_agrees, assert_declines, kernels, operators

from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.truth_in_floats import truth_in_floats

COMPARISONS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")


def truth(name: str, *operands: Value, **attrs: Any) -> Value:
    return typed("bool", name, *operands, **attrs)


def chosen(condition: Value, one: Value, other: Value) -> Value:
    return call("SELECT_V2", condition, one, other)


def elu() -> Value:
    image = x(2, 5, 7, 19)
    power = call("SUB", call("EXP", image), number(1))
    return chosen(truth("GREATER", image, number(0)), image, power)


def inside() -> Value:
    """Places within an image, whose other values become 0."""
    places, image = x(2, 35, 19), x(2, 5, 7, 19)
    low, high = (truth(name, places, number(0.5)) for name in ("GREATER_EQUAL", "LESS"))
    known = truth("LOGICAL_AND", low, truth("LOGICAL_OR", high, truth("LESS", places, w(19))))
    return call("MUL", call("CAST", truth("RESHAPE", known, new_shape=(2, 5, 7, 19))), image)


def every_comparison(draw: str) -> list[Value]:
    """With numbers that are equal, infinite or not a number among them."""
    one, other = x(3, 5, 19, draw=draw), w(3, 5, 19, draw=draw)
    conditions = [truth(name, one, other) for name in COMPARISONS]
    conditions += [truth("LOGICAL_NOT", each) for each in conditions]
    conditions += [truth("EQUAL", *conditions[:2]), truth("NOT_EQUAL", *conditions[1:3])]
    return [chosen(each, number(3), one) for each in conditions]


def broadcast() -> Value:
    """A mask that is less than what it chooses from."""
    mask = truth("LESS", x(7, 1, draw="small"), w(1, 7))
    return chosen(mask, x(2, 3, 7, 7), number(-1e9))


def rejected() -> list[tuple[list[Value], str]]:
    """Truth values that stay, with the reason."""
    image = x(3, 5)
    found = truth("LESS", image, number(0))
    given = xi(3, 5, draw="truth", dtype="bool")
    rows = truth("LESS", x(3), number(0))
    return [
        ([chosen(found, image, number(0)), found], "a truth value is an output of the model"),
        ([chosen(truth("LOGICAL_AND", found, given), image, number(0))], "a truth value is given"),
        ([typed("int32", "CAST", found)], "CAST reads truth values"),
        ([typed("int32", "SELECT_V2", found, xi(3, 5), xi(3, 5))], "SELECT_V2 reads truth values"),
        ([call("SELECT", rows, image, x(3, 5))], "the condition of SELECT chooses rows"),
        (
            [
                chosen(
                    truth("LOGICAL_OR", found, truth("EQUAL", xi(3, 5), xi(3, 5))), image, x(3, 5)
                )
            ],
            "EQUAL computes truth values of int32",
        ),
    ]


def test_one_kernel_compares_and_chooses() -> None:
    passes = (truth_in_floats, fuse_elementwise)
    assert operators(elu(), *passes) == "tflgpu.greater | EXP | SUB | tflgpu.select"
    assert (kernels(elu()), kernels(inside())) == (1, 2)
    assert kernels(elu(), truth_in_floats) > 1


def test_a_cast_that_is_an_output_stays() -> None:
    shown = call("CAST", truth("LOGICAL_NOT", truth("LESS", x(3, 5), number(0))))
    passes = (truth_in_floats, fuse_elementwise)
    assert operators(shown, *passes) == "tflgpu.less | tflgpu.logical_not | tflgpu.copy"


@pytest.mark.parametrize("values, reason", rejected(), ids=[each[1] for each in rejected()])
def test_others_stay(values: list[Value], reason: str) -> None:
    assert_declines(values, reason, truth_in_floats)


def test_numbers_agree(tmp_path: Path) -> None:
    shown = call("CAST", truth("LOGICAL_NOT", truth("LESS", x(3, 5), number(0))))
    known = truth(
        "LOGICAL_AND",
        table((1, 0, 1, 1, 0), (0, 1, 0, 1, 0), (1, 1, 0, 0, 1), dtype="bool"),
        truth("LESS", x(3, 5), number(0)),
    )
    others = [shown, chosen(known, x(3, 5), number(2))]
    values = [elu(), inside(), broadcast(), *others, *every_comparison("special")]
    assert_agrees(tmp_path, *values, *every_comparison("with ties"), off=[truth_in_floats])
