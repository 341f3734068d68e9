"""Expressions: their texts, and that these have the values which the expressions stand for."""

from itertools import product

import numpy as np
import pytest

from tflgpu.compiler.language.expression import (
    FALSE,
    TRUE,
    Expression,
    Name,
    Number,
    Operand,
    Operation,
)
from tflgpu.compiler.language.functions import (
    clamp,
    coordinate,
    every,
    horner,
    maximum,
    minimum,
    select,
)
from tflgpu.compiler.language.language import GLSL, OPENCL
from tflgpu.compiler.language.primary import Cast, Element
from tflgpu.compiler.language.types import FLOAT, FLOATS, INT, INTS

B, Y, X, GS, INDEX = (Name(name) for name in ("b", "y", "x", "gs", "i"))
V, W = Name("v", FLOAT), Name("w", FLOAT)
LANES = Name("lanes", INTS)


def value(found: Expression, **names: int) -> int:
    """An integer expression of a kernel; its division is of positive numbers."""
    return int(eval(str(found).replace("/", "//"), {}, names))


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ((), "0"),
        (((B, 1), (Y, 1)), "0"),
        (((Y, 5),), "y"),
        (((Y, 5), (X, 7)), "y * 7 + x"),
        (((B, 1), (Y, 5), (X + 1, 7)), "y * 7 + x + 1"),
        (((Y - 1, 5), (X, 7)), "(y - 1) * 7 + x"),
        (((B, 2), (Y, 5), (X, 7)), "(b * 5 + y) * 7 + x"),
        (((Y, 5), (0, 7)), "y * 7"),
        (((0, 5), (X, 7)), "x"),
        (((2, 4), (X, 4)), "x + 8"),
        (((GS, 3), (0, 5), (X, 7)), "gs * 35 + x"),
        (((GS, 3), (Y, 1), (X, 7)), "gs * 7 + x"),
        (((INDEX // 3, 5), (X, 7)), "i / 3 * 7 + x"),
    ],
)
def test_horner_says_no_more_than_it_has_to(
    terms: tuple[tuple[Operand, int], ...], text: str
) -> None:
    assert str(horner(*terms)) == text


def test_horner_is_the_row_major_index() -> None:
    sizes = (2, 3, 5, 7)
    index = horner((Name("a"), 2), (B, 3), (Name("c") - 1, 5), (Name("d") + 2, 7))
    for a, b, c, d in product(range(2), range(3), range(1, 6), range(-2, 5)):
        place = np.ravel_multi_index((a, b, c - 1, d + 2), sizes)
        assert value(index, a=a, b=b, c=c, d=d) == place


def test_coordinates_are_remainders_only_where_they_must_be() -> None:
    shape = (1, 3, 1, 5)
    texts = [coordinate(INDEX, axis, shape).text for axis in range(4)]
    assert texts == ["0", "i / 5", "0", "i % 5"]
    found = [coordinate(Number(13), axis, shape).value for axis in range(4)]
    assert found == [int(place) for place in np.unravel_index(13, shape)]


@pytest.mark.parametrize("coordinate", [X, X + 2, X - 1, X * 6 + Y * 3, 2 - X * 4])
@pytest.mark.parametrize("step", [-3, -1, 0, 1, 2])
@pytest.mark.parametrize("start", [-5, 0, 4])
def test_sums_and_products(coordinate: Expression, step: int, start: int) -> None:
    for x, y in product(range(7), range(3)):
        expected = start + step * value(coordinate, x=x, y=y)
        assert value(coordinate * step + start, x=x, y=y) == expected
        assert value(start - coordinate * -step, x=x, y=y) == expected


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (X * 256 * 3, "x * 768"),
        (X - X + 3, "3"),
        (4 - Y, "4 - y"),
        (-Y - 4, "-y - 4"),
        (X + Y * -2, "x - y * 2"),
        ((X + 3) // 4, "(x + 3) / 4"),
        (INDEX // 3 // 5, "i / 15"),
        ((X * 8 + 4) // 4, "x * 2 + 1"),
        (X // 1 + X % 1, "x"),
        (X // 4 * 4 + Y + X % 4, "y + x"),
        (X // 4 * 8 + X % 4, "x / 4 * 8 + x % 4"),
        (Y * 3 + (X + 1) % 4 + (X + 1) // 4 * 4 - X, "y * 3 + 1"),
        (((X // 12 * 3 + X // 4 % 3) * 4 + X % 4) * 5, "x * 5"),
        (Number(-7) // 2, "-3"),
        ((X * 3 + Y) % 4, "(x * 3 + y) % 4"),
        ((X * 12 + Y * 4) % 4, "0"),
        ((X * 4 + 7) % 4, "3"),
        ((X * 4 + Y) % 4, "(x * 4 + y) % 4"),
        (minimum(3, 1) + maximum(3, 1) + clamp(9, 0, 5), "9"),
        (clamp(X, 3, 3), "3"),
        (clamp(LANES, 3, 3), "clamp(lanes, 3, 3)"),
        (minimum(X + Y, 6) // 4, "min(x + y, 6) / 4"),
        (Operation(">>", X + 1, Y) + 2, "((x + 1) >> y) + 2"),
        (select(X < 3, Element(Name("at"), Y + 1), 0), "x < 3 ? at[y + 1] : 0"),
        (select(X < 3, Y, 0) * 5, "(x < 3 ? y : 0) * 5"),
        (every(X >= 0, TRUE, (X < 5) & (Y < 7)), "x >= 0 && x < 5 && y < 7"),
        ((X.equals(0) | (Y < 5)) & (Y >= 0), "(x == 0 || y < 5) && y >= 0"),
    ],
)
def test_expressions_print_in_their_simplest_form(found: Expression, text: str) -> None:
    assert str(found) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (V + 1.0 + W + 2.0, "v + 1.0f + w + 2.0f"),
        (Cast("int", V, INT) * 2 + Cast("int", V + 1.0, INT), "(int)v * 2 + (int)(v + 1.0f)"),
        (-Cast("float", X, FLOAT), "-((float)x)"),
        (V + (W + 1.0), "v + (w + 1.0f)"),
        (V * (W * 0.5), "v * (w * 0.5f)"),
        (0.5 * V - W * V, "0.5f * v - w * v"),
        (V - -0.5, "v + 0.5f"),
        (V + -0.5, "v - 0.5f"),
        (1.0 / (1.0 + -V), "1.0f / (1.0f + -v)"),
        (-(V + W), "-(v + w)"),
        (V * 256 + 3, "v * 256.0f + 3.0f"),
        (V < 1, "v < 1.0f"),
        (V * 0.70710678 - 2147483520.0, "v * 0.70710678f - 2147483520.0f"),
        (V - 0.0, "v - 0.0f"),
        (LANES * 0 + 3, "lanes * 0 + 3"),
        ((LANES + 3) >> 2, "(lanes + 3) >> 2"),
        (Number(-(2**31)) + X * 0, "(-2147483647 - 1)"),
    ],
)
def test_floats_and_slices_are_computed_as_written(found: Expression, text: str) -> None:
    assert str(found) == text


def test_arithmetic_of_vectors_takes_one_value_of_equal_lanes() -> None:
    v = Name("v", FLOATS)
    for language, half in ((OPENCL, "(float4)(0.5f)"), (GLSL, "vec4(0.5f)")):
        alike, less = (language.made(FLOATS, 4, each) for each in (0.5, -0.5))
        assert str(v * alike) == "v * 0.5f"
        assert str(alike / v) == "0.5f / v"
        assert str(v + less) == "v - 0.5f"
        assert str(alike * alike) == f"{half} * {half}"
        assert str(v < alike) == f"v < {half}"
        assert str(W * alike) == f"w * {half}"
        assert {each.type for each in (v * alike, alike * alike, W * alike)} == {FLOATS}


def test_parts_are_counted() -> None:
    assert ((V * V + W).count(V), (V * V + W).count(X), (X + X * Y).count(X)) == (2, 0, 2)


def test_conditions_that_are_known_go_away() -> None:
    assert (X - X < 1) == TRUE and (X - X).equals(1) == FALSE
    assert (X < 5) & FALSE == FALSE and (X < 5) | TRUE == TRUE
    assert select(X - X < 1, Y, X) == Y


def test_only_numbers_and_expressions_are_operands() -> None:
    with pytest.raises(TypeError, match="'y' is no expression"):
        X + "y"  # type: ignore[operator]
    with pytest.raises(TypeError, match="known only when the kernel runs"):
        bool(X < 5)
