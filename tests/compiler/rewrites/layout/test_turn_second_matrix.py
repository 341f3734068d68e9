"""Products with a transposed operand, or with a single column."""

from pathlib import Path

import pytest
from graphs import call, x
from rewriting import assert_agrees, assert_becomes, assert_declines, rewritten

from tflgpu.compiler.rewrites.layout.turn_second_matrix import turn_second_matrix

SOURCE = """
    input a float32[2,3,19,48]
    input b float32[2,3,17,48]
    y = BATCH_MATMUL(a, b) adj_y=True
    output y
"""

COLUMN = """
    input a float32[3,19,48]
    input b float32[3,48,1]
    y = BATCH_MATMUL(a, b) adj_x=False
    output y
"""


def test_the_second_operand_is_transposed() -> None:
    expected = """
        y/transpose1.0 = TRANSPOSE(b, y/constant1)
        y = BATCH_MATMUL(a, y/transpose1.0) adj_y=False
    """
    assert_becomes(SOURCE, expected, turn_second_matrix)


@pytest.mark.parametrize("device", ["cpu_avx512", "gpu"])
def test_a_column_is_a_row(device: str) -> None:
    expected = """
        y/transpose1.0 = TRANSPOSE(b, y/constant1)
        y = BATCH_MATMUL(a, y/transpose1.0) adj_x=False adj_y=True
    """
    assert_becomes(COLUMN, expected, turn_second_matrix, device=device)


def test_rows_that_do_not_fill_a_slice_are_transposed_for_few_columns() -> None:
    narrow = SOURCE.replace("48]", "10]").replace("17,", "7,")
    graph = rewritten(narrow, turn_second_matrix)[0]
    assert [op.name for op in graph.ops] == ["TRANSPOSE", "BATCH_MATMUL"]


@pytest.mark.parametrize(
    ("source", "device", "reason"),
    [
        (COLUMN.replace("48", "3"), "gpu", "^3 numbers do not fill a slice$"),
        (
            COLUMN.replace("[3,19,48]", "[3,48,19]").replace("adj_x=False", "adj_x=True"),
            "gpu",
            "^the rows",
        ),
        (SOURCE.replace("48]", "10]").replace("17,", "3,"), "cpu_avx512", "^3 columns do not fill"),
        (SOURCE, "gpu", "^lanes are added up quickly$"),
        (SOURCE.replace("[2,3,17,48]", "[2,3,15,48]"), "cpu_avx512", "^15 columns do not fill"),
        (SOURCE.replace("[2,3,19,48]", "[2,3,11,48]"), "cpu_avx512", "^11 rows are too few"),
    ],
)
def test_where_it_does_not_pay_nothing_is_moved(source: str, device: str, reason: str) -> None:
    assert_declines(source, reason, turn_second_matrix, device=device)


def test_products_agree_with_litert(tmp_path: Path) -> None:
    turned = {"adj_x": False, "adj_y": True}
    narrow = call("BATCH_MATMUL", x(2, 3, 19, 11), x(3, 7, 11), **turned)
    column = call("BATCH_MATMUL", x(2, 3, 19, 48), x(3, 48, 1), adj_x=False, adj_y=False)
    assert_agrees(
        tmp_path, call("BATCH_MATMUL", x(2, 3, 19, 48), x(3, 17, 48), **turned), narrow, column
    )
