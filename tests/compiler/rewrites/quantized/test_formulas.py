"""The page on quantized models: its table names all quantized operators, with XNNPACK's limits."""

import re

import pytest
from paths import ROOT

from tflgpu.compiler.rewrites.quantized import LOWERINGS
from tflgpu.compiler.rewrites.quantized.moves import MOVES
from tflgpu.compiler.rewrites.quantized.ratios import CONVERSIONS, PRODUCTS, SUMS, Ratios

_PAGE = (ROOT / "docs" / "quantized.md").read_text(encoding="utf-8")
SECTION = re.split(r"\n## ", _PAGE.partition("\n## Which formula LiteRT uses\n")[2])[0]
ROWS = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("| ")][1:]


def test_the_table_names_every_operator_that_is_lowered() -> None:
    named = {operator for operators, *_ in ROWS for operator in operators.split(", ")}
    assert named | set(MOVES) == LOWERINGS.keys()
    assert not named & set(MOVES)


def test_the_page_names_the_operators_that_only_move_integers() -> None:
    said = re.search(r"These only move integers, of 8 bits or more: ([^.]+)\.", SECTION)
    assert said and tuple(said[1].replace("\n", " ").split(", ")) == MOVES


@pytest.mark.parametrize(
    ("ratios", "inside", "outside", "said"),
    [
        (SUMS, (2**-10, 255.99), (0.00097, 256), "each operand's scale is 2^-10 to 2^8 of"),
        (PRODUCTS, (2**-16, 255.99), (0.000015, 256), "product of scales is 2^-16 to 2^8 of"),
        (CONVERSIONS, (2**-8, 128), (0.0039, 128.1), "the scale is 2^-8 to 2^7 of"),
    ],
    ids=("sums", "products", "conversions"),
)
def test_a_range_of_ratios_has_its_ends(
    ratios: Ratios, inside: tuple[float, float], outside: tuple[float, float], said: str
) -> None:
    assert all(ratio in ratios for ratio in inside)
    assert not any(ratio in ratios for ratio in outside)
    assert said in SECTION
