"""Products with a transposed operand, on processors."""

from pathlib import Path

import pytest
from agreement import assert_values
from devices import Way
from graphs import call, x
from rewriting import assert_becomes, assert_declines

from tflgpu.compiler.rewrites.layout.turn_second_matrix import turn_second_matrix

SOURCE = """
    input a float32[2,3,19,48]
    input b float32[2,3,17,48]
    y = BATCH_MATMUL(a, b) adj_y=True
    output y
"""


def test_the_second_operand_is_transposed() -> None:
    expected = """
        y/transpose1.0 = TRANSPOSE(b, y/constant1)
        y = BATCH_MATMUL(a, y/transpose1.0) adj_y=False
    """
    assert_becomes(SOURCE, expected, turn_second_matrix)


@pytest.mark.parametrize(
    ("source", "device", "reason"),
    [
        (SOURCE, "gpu", "^lanes are added up quickly$"),
        (SOURCE.replace("[2,3,17,48]", "[2,3,15,48]"), "cpu_avx512", "^15 columns do not fill"),
        (SOURCE.replace("[2,3,19,48]", "[2,3,11,48]"), "cpu_avx512", "^11 rows are too few"),
    ],
)
def test_where_it_does_not_pay_nothing_is_moved(source: str, device: str, reason: str) -> None:
    assert_declines(source, reason, turn_second_matrix, device=device)


def test_products_agree_with_litert(way: Way, tmp_path: Path) -> None:
    value = call("BATCH_MATMUL", x(2, 3, 19, 48), x(3, 17, 48), adj_x=False, adj_y=True)
    assert_values({"turned": value}, way, tmp_path)
