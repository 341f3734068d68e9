"""Index arithmetic: evaluated, texts are the places they stand for."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tflgpu.compiler.language import affine, horner


def value(text: str, **names: int) -> int:
    """An integer expression of a kernel; its division is of positive numbers."""
    return int(eval(text.replace("/", "//"), {}, names))


@pytest.mark.parametrize(
    ("terms", "text"),
    [
        ((), "0"),
        ((("b", 1), ("y", 1)), "0"),
        ((("y", 5),), "y"),
        ((("y", 5), ("x", 7)), "y * 7 + x"),
        ((("b", 1), ("y", 5), ("x + 1", 7)), "y * 7 + x + 1"),
        ((("y - 1", 5), ("x", 7)), "(y - 1) * 7 + x"),
        ((("b", 2), ("y", 5), ("x", 7)), "(b * 5 + y) * 7 + x"),
        ((("y", 5), ("0", 7)), "y * 7"),
        ((("0", 5), ("x", 7)), "x"),
        ((("gs", 3), ("y", 1), ("x", 7)), "gs * 7 + x"),
        ((("i / 3", 5), ("x", 7)), "i / 3 * 7 + x"),
    ],
)
def test_horner_says_no_more_than_it_has_to(terms: tuple[tuple[str, int], ...], text: str) -> None:
    assert horner(*terms) == text


def test_horner_is_the_row_major_index() -> None:
    sizes = (2, 3, 5, 7)
    text = horner(("a", 2), ("b", 3), ("c - 1", 5), ("d + 2", 7))
    for a, b, c, d in product(range(2), range(3), range(1, 6), range(-2, 5)):
        place = np.ravel_multi_index((a, b, c - 1, d + 2), sizes)
        assert value(text, a=a, b=b, c=c, d=d) == place


@pytest.mark.parametrize("coordinate", ["x", "x + 2", "x - 1"])
@pytest.mark.parametrize("step", [-3, -1, 0, 1, 2])
@pytest.mark.parametrize("start", [-5, 0, 4])
def test_affine(coordinate: str, step: int, start: int) -> None:
    text = affine(coordinate, step, start)
    for x in range(7):
        assert value(text, x=x) == start + step * value(coordinate, x=x)
