"""Transposes and reshapes that cancel, duplicates, means and norms."""

from __future__ import annotations

from pathlib import Path

import pytest
from graphs import Value, call, ints, parts, w, x
from rewrites import assert_agrees, operators, reasons

POOL = {"padding": "VALID", "stride_h": 1, "stride_w": 1}


def transpose(value: Value, *order: int) -> Value:
    return call("TRANSPOSE", value, ints(*order))


def reshape(value: Value, *shape: int) -> Value:
    return call("RESHAPE", value, ints(*shape), new_shape=shape)


def pool(value: Value, height: int, width: int) -> Value:
    return call("AVERAGE_POOL_2D", value, filter_height=height, filter_width=width, **POOL)


def norm(axes: tuple[int, ...]) -> Value:
    """(x - mean) / deviation * gain + offset, as converters spell it out."""
    image = x(1, 7, 5, 19)
    mean = call("MEAN", image, ints(*axes), keep_dims=True)
    squares = call("SQUARED_DIFFERENCE", image, mean)
    deviation = call(
        "SQRT", call("ADD", call("MEAN", squares, ints(*axes), keep_dims=True), w(draw="positive"))
    )
    gain = call("DIV", w(19), deviation)
    return call("ADD", call("MUL", image, gain), call("MUL", call("NEG", mean), gain))


def squares_twice() -> Value:
    image = x(1, 7, 5, 3)
    first, second = (
        call("MAX_POOL_2D", image, filter_height=2, filter_width=2, **POOL) for _ in range(2)
    )
    return call("ADD", call("TANH", first), call("TANH", second))


CASES = {
    "merge_transposes": (
        transpose(transpose(x(2, 3, 5, 7), 0, 3, 1, 2), 0, 3, 1, 2),
        "TRANSPOSE  TRANSPOSE",
        "TRANSPOSE",
    ),
    "transpose_to_reshape": (transpose(x(1, 7, 1, 3), 2, 1, 0, 3), "TRANSPOSE", "RESHAPE"),
    "merge_reshapes": (
        call("SQUEEZE", reshape(x(1, 7, 5, 3), 1, 35, 3), squeeze_dims=(0,)),
        "RESHAPE  SQUEEZE",
        "RESHAPE",
    ),
    "pool_to_mean": (pool(x(2, 7, 5, 3), 7, 5), "AVERAGE_POOL_2D", "MEAN"),
    "merge_duplicates": (
        squares_twice(),
        "MAX_POOL_2D  TANH  MAX_POOL_2D  TANH  ADD",
        "MAX_POOL_2D  TANH  ADD",
    ),
    "move_negation": (
        norm((3,)),
        "MEAN  SQUARED_DIFFERENCE  MEAN  ADD  SQRT  DIV  MUL  NEG  MUL  ADD",
        "MEAN  SQUARED_DIFFERENCE  MEAN  ADD  SQRT  DIV  MUL  MUL  SUB",
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_before_and_after(rule: str) -> None:
    value, before, after = CASES[rule]
    assert operators(value) == before
    assert operators(value, rule) == after


def test_a_split_into_one_part_goes_away() -> None:
    (whole,) = parts("SPLIT", 1, ints(-1), x(2, 7, 5, 3), num_splits=1)
    (again,) = parts("SPLIT_V", 1, call("TANH", whole), ints(-1), ints(2), num_splits=1)
    assert operators(call("ABS", again), "drop_identity") == "TANH  ABS"


def test_transposes_that_undo_each_other_go_away() -> None:
    value = transpose(transpose(x(2, 3, 5, 7), 0, 3, 1, 2), 0, 2, 3, 1)
    assert operators(call("TANH", value), "merge_transposes", "drop_identity") == "TANH"


@pytest.mark.parametrize(
    ("rule", "value", "reason"),
    [
        (
            "transpose_to_reshape",
            transpose(x(1, 7, 5, 3), 0, 2, 1, 3),
            "axes of more than one entry change their order",
        ),
        ("pool_to_mean", pool(x(2, 7, 5, 3), 6, 5), "there are several windows"),
        (
            "pool_to_mean",
            call(
                "AVERAGE_POOL_2D",
                x(2, 3, 5, 3),
                padding="SAME",
                filter_height=2,
                filter_width=3,
                stride_h=3,
                stride_w=5,
            ),
            "the window is smaller than the picture",
        ),
        (
            "move_negation",
            call("SUB", call("NEG", x(7, 5)), x(7, 5)),
            "the negated value is what is subtracted from",
        ),
        (
            "move_negation",
            call("MUL", *[call("NEG", x(7, 5))] * 2),
            "both operands are the negated value",
        ),
    ],
)
def test_it_declines(rule: str, value: Value, reason: str) -> None:
    assert reasons(value, rule) == [reason]


def test_numbers_agree(tmp_path: Path) -> None:
    values = [value for value, _, _ in CASES.values()]
    values += [transpose(transpose(x(2, 3, 5, 7), 0, 3, 1, 2), 0, 2, 3, 1)]
    values += [call("SUB", call("NEG", x(7, 5)), call("NEG", x(7, 5))), norm((1, 2, 3))]
    assert_agrees(values, tmp_path, *CASES)
