"""The table of formulas: it names all quantized operators, and its limits are XNNPACK's."""

from __future__ import annotations

import pytest

from tflgpu.compiler.rewrites.quantized import LOWERINGS
from tflgpu.compiler.rewrites.quantized.formulas import FORMULAS
from tflgpu.compiler.rewrites.quantized.moves import MOVES
from tflgpu.compiler.rewrites.quantized.ratios import CONVERSIONS, PRODUCTS, SUMS, Ratios


def test_the_table_names_every_operator_that_is_lowered() -> None:
    named = {operator for row in FORMULAS for operator in row.operators}
    assert named | set(MOVES) == LOWERINGS.keys()
    assert not named & set(MOVES)


@pytest.mark.parametrize(
    ("ratios", "inside", "outside"),
    [
        (SUMS, (2**-10, 255.99), (0.00097, 256)),
        (PRODUCTS, (2**-16, 255.99), (0.000015, 256)),
        (CONVERSIONS, (2**-8, 128), (0.0039, 128.1)),
    ],
    ids=("sums", "products", "conversions"),
)
def test_limits(ratios: Ratios, inside: tuple[float, float], outside: tuple[float, float]) -> None:
    assert all(ratio in ratios for ratio in inside)
    assert not any(ratio in ratios for ratio in outside)


def test_limits_are_shown_as_powers_of_two() -> None:
    assert str(SUMS) == "2^-10 to 2^8"
