"""Literals of C99."""

import numpy as np
import pytest

from tflgpu.compiler.export.literals import LONGEST_STRING, floating, pieces, string


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("plain", '"plain"'),
        ('say "no"\\', '"say \\"no\\"\\\\"'),
        ("what??/", '"what\\?\\?/"'),
        ("a\nb\t", '"a\\nb\\011"'),
        ("ü1", '"\\303\\2741"'),
    ],
)
def test_strings_are_escaped(text: str, literal: str) -> None:
    assert string(text) == literal


def test_pieces_are_short_and_complete() -> None:
    text = "".join(f"line {number}\n" for number in range(2000)) + "x" * 9000
    found = list(pieces(text))
    literals = [[line.strip()[1:-1] for line in piece.splitlines()] for piece in found]
    contents = ["".join(lines).replace("\\n", "\n") for lines in literals]
    assert "".join(contents) == text
    assert max(map(len, contents)) <= LONGEST_STRING


@pytest.mark.parametrize("value", [0.1, -3e-39, 1e30])
def test_floats_are_exact(value: float) -> None:
    stored = float(np.float32(value))
    assert floating(stored).endswith("f")
    assert float.fromhex(floating(stored)[:-1]) == stored
