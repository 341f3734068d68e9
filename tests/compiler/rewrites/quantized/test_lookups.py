"""Rows of quantized tables; LiteRT reads tables of other types than int8 wrongly as floats."""

from dataclasses import replace

import numpy as np
import pytest
from graphs.operators import graph_of
from quantized_operators import computed_at_run_time, lowered, quantized

from tflgpu.compiler.devices import profile
from tflgpu.compiler.errors import UnsupportedError
from tflgpu.compiler.ir import Array, Blocks, Graph, Op, Quantization, Tensor, constant
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites.quantized.lower_quantized import lower_quantized
from tflgpu.compiler.target import Target

ROWS = [[38, 105, 0], [89, -35, 2]]
ROWS_OF_FOUR_BITS = [[-8, 7, 1], [0, -1, 2]]
IDS = Tensor("ids", (5,), "int32")


def packed(rows: list[list[int]]) -> Tensor:
    return replace(quantized("table", rows, 0.1), dtype="int4")


def in_blocks(size: int, dtype: str = "float16", zero: int | None = None) -> Tensor:
    """Two rows of six numbers, whose blocks have scales from 1 on."""
    scales = np.arange(1, 1 + 12 // size).reshape(2, -1)
    zeros = None if zero is None else constant("zeros", np.full(scales.shape, zero, np.int8))
    blocks = Blocks(size, constant("scales", scales.astype(dtype)), zeros)
    return Tensor("table", (2, 6), "int4", np.arange(-6, 6, dtype="b").reshape(2, 6), blocks=blocks)


def of_floats(table: Tensor) -> Graph:
    graph = graph_of(Op("EMBEDDING_LOOKUP", (IDS, table), (Tensor("y", (5, table.shape[1])),)))
    lower_quantized(graph, Target(profile("cpu")))
    return graph


def rows_of(lookup: Op, *indices: int) -> Array:
    """Rows of the table of a lookup, the first two by default, as numpy finds them."""
    ids = np.array(indices or (0, 1))
    arrays = [ids if tensor is IDS else tensor.values for tensor in lookup.reads]
    reference = OPS[lookup.name].reference
    assert reference is not None
    return np.asarray(reference(lookup, *arrays))


@pytest.mark.parametrize("zero", [3, -8])
@pytest.mark.parametrize("operator", ["EMBEDDING_LOOKUP", "GATHER"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_integers_are_kept_whatever_they_stand_for(dtype: str, operator: str, zero: int) -> None:
    zero = abs(zero) if dtype == "uint8" else zero
    rows = np.abs(ROWS).tolist() if dtype == "uint8" else ROWS
    table = quantized("table", rows, 0.1, zero, dtype)
    operands = (IDS, table) if operator == "EMBEDDING_LOOKUP" else (table, IDS)
    lookup, move, _ = lowered(operator, *operands, scale=0.2, zero=1, dtype=dtype).ops
    np.testing.assert_array_equal(rows_of(lookup), np.array(rows, np.float32) - zero)
    assert move.name == "tflgpu.add_exact" and move.constant(1) == zero - 1
    wide = dtype == "int16"
    assert lookup.name == ("GATHER" if wide else "tflgpu.lookup")
    assert max(tensor.values.itemsize for tensor in lookup.reads if tensor.constant) == 1 + 3 * wide


def test_indices_beyond_a_table_are_those_of_its_ends() -> None:
    lookup, *_ = lowered("GATHER", quantized("table", ROWS, 0.1, 3), IDS, scale=0.1, zero=3).ops
    ends = np.array([ROWS[0], ROWS[-1]], np.float32)
    np.testing.assert_array_equal(rows_of(lookup, -5, len(ROWS)), ends - 3)


@pytest.mark.parametrize(
    ("dtype", "zero", "wanted"),
    [("int8", 3, (-131, 124)), ("uint8", 3, (-3, 252)), ("int4", 5, (-13, 2))],
)
def test_their_range_is_that_of_all_integers_of_the_type(
    dtype: str, zero: int, wanted: tuple[int, int]
) -> None:
    table = replace(quantized("table", np.abs(ROWS[:1]).tolist(), 0.1, zero), dtype=dtype)
    lookup, *_ = lowered("GATHER", table, IDS, scale=0.1, zero=zero, dtype=dtype).ops
    found = OPS[lookup.name].traits.range
    assert found is not None and found(lookup, (None, None)) == wanted
    lookup.attrs = {**lookup.attrs, "bits": 32}
    assert found(lookup, (None, None)) is None, "of floats"


def test_floats_are_products_of_the_rows_alone() -> None:
    lookup, product = of_floats(quantized("table", ROWS, 0.1)).ops
    assert (lookup.name, lookup.attrs["bits"], product.name) == ("tflgpu.lookup", 8, "MUL")
    assert lookup.constant(1).dtype == np.int8 and product.constant(1) == np.float32(0.1)


def test_numbers_of_four_bits_share_bytes() -> None:
    lookup, _ = of_floats(packed([[-8, 7], [1, 0], [-1, 2]])).ops
    assert lookup.constant(1).tolist() == [[0xF0], [0x89], [0xA7]]
    assert rows_of(lookup).tolist() == [[-8, 7], [1, 0]]


def test_blocks_are_multiplied_by_the_scales_of_the_rows_alone() -> None:
    lookup, gather, _, _, product, _ = of_floats(in_blocks(2)).ops
    assert (lookup.attrs["bits"], gather.name, product.name) == (4, "GATHER", "MUL")
    assert gather.constant(0).tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    "table, reason",
    [
        (quantized("table", ROWS, 0.1, 0, "int16"), "its table is int16, whose bytes LiteRT takes"),
        (quantized("table", np.abs(ROWS), 0.1, 0, "uint8"), "its table is uint8, whose bytes"),
        (quantized("table", ROWS, 0.1, 3), "its table has a zero point other than 0"),
        (packed(ROWS_OF_FOUR_BITS), "a row of table table has 3 numbers of int4, and LiteRT"),
        (in_blocks(3), "a block of table table has 3 numbers of int4, and LiteRT misplaces"),
        (in_blocks(2, "float32"), "the scales of the blocks of table are float32, whose bytes"),
        (in_blocks(2, zero=1), "the blocks of table have zero points, which LiteRT disregards"),
    ],
)
def test_what_litert_reads_wrongly_is_refused(table: Tensor, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        of_floats(table)


def test_a_single_row_of_an_odd_number_is_read_right() -> None:
    lookup, _ = of_floats(packed(ROWS_OF_FOUR_BITS[:1])).ops
    assert lookup.name == "tflgpu.lookup"
    assert rows_of(lookup, 0).tolist() == ROWS_OF_FOUR_BITS[:1]


def test_scales_may_lie_along_columns() -> None:
    _, product = of_floats(quantized("table", ROWS, (0.1, 0.2, 0.3), axis=1)).ops
    np.testing.assert_array_equal(product.constant(1), np.array([0.1, 0.2, 0.3], np.float32))


@pytest.mark.parametrize(("axis", "shape"), [(0, (5, 3)), (1, (2, 5)), (-1, (2, 5))])
def test_only_rows_are_looked_up(axis: int, shape: tuple[int, ...]) -> None:
    """A batch axis that is counted from the last one of the indices is none."""
    table = quantized("table", ROWS, 0.1)
    first, *_ = lowered("GATHER", table, IDS, scale=0.1, axis=axis, batch_dims=-1).ops
    assert first.name == ("GATHER" if axis else "tflgpu.lookup")
    assert first.output.shape == shape


def test_tables_without_elements_or_of_two_bits() -> None:
    empty = lowered("GATHER", quantized("table", np.zeros((3, 0))), IDS).ops[0]
    assert empty.name == "GATHER" and empty.output.shape == (5, 0)
    table = replace(quantized("table", [[-2, 1, 0, -1]], 0.1), dtype="int2")
    lookup, _ = of_floats(table).ops
    assert lookup.operand(1).values.dtype == np.int8
    assert rows_of(lookup, 0).tolist() == [[-2, 1, 0, -1]]


@pytest.mark.parametrize(("zero", "tied"), [(0, True), (3, False)])
def test_layers_have_only_tables_without_a_zero_point_in_the_same_form(
    zero: int, tied: bool
) -> None:
    table = replace(quantized("table", ROWS, 0.1, zero), tied=True)
    lookup, *_ = lowered("GATHER", table, IDS, scale=0.1, zero=zero).ops
    assert lookup.operand(1).tied == tied


def test_rows_of_a_table_that_is_computed() -> None:
    table = computed_at_run_time(quantized("table", ROWS, 0.1))
    assert "tflgpu.lookup" not in [op.name for op in lowered("EMBEDDING_LOOKUP", IDS, table).ops]
    with pytest.raises(UnsupportedError, match="its table is computed while the model runs"):
        of_floats(table)
    for operator in ("EMBEDDING_LOOKUP", "GATHER"):
        halves = replace(computed_at_run_time(packed([[1, 2], [3, 4]])), dtype="int4")
        operands = (IDS, halves) if operator == "EMBEDDING_LOOKUP" else (halves, IDS)
        with pytest.raises(UnsupportedError):
            lowered(operator, *operands, scale=0.1, dtype="int4")


def test_rows_of_four_bits_that_litert_copies_wrongly() -> None:
    with pytest.raises(UnsupportedError, match="LiteRT misplaces rows that are no whole bytes"):
        lowered("GATHER", packed(ROWS_OF_FOUR_BITS), IDS, scale=0.1, dtype="int4")
    with pytest.raises(UnsupportedError, match="its operand and its result have unlike zero point"):
        lowered("GATHER", packed([[1, 2], [3, 4]]), IDS, scale=0.1, zero=1, dtype="int4")


@pytest.mark.parametrize(
    ("table", "result"),
    [
        (quantized("table", ROWS, 0.1), "int16"),
        (quantized("table", ROWS, 0.1, 0, "int16"), "int8"),
        (packed(ROWS_OF_FOUR_BITS), "int8"),
        (quantized("table", ROWS, 0.1), "int4"),
        (quantized("table", ROWS, 0.1), "int32"),
        (replace(quantized("table", [[1, 0, 1, 1]], 0.1), dtype="int2"), "int2"),
    ],
)
def test_bytes_are_not_copied_to_another_type(table: Tensor, result: str) -> None:
    copied = f"table table is {table.dtype}, whose bytes LiteRT copies to a result of {result}"
    with pytest.raises(UnsupportedError, match=f"operator 0 EMBEDDING_LOOKUP: {copied}$") as caught:
        lowered("EMBEDDING_LOOKUP", IDS, table, dtype=result)
    assert caught.value.findings[0].unsafe, "nor does LiteRT run it"


def test_rows_of_four_bits_with_any_zero_point_stay_packed() -> None:
    """With -8, a stored 0 stands for 0, though numbers have no sign."""
    table = replace(packed([[-8, 7], [1, 0]]), quantization=Quantization((0.1,), (-8,)))
    lookup, *_ = lowered("GATHER", table, IDS, scale=0.1, zero=-8, dtype="int4").ops
    assert rows_of(lookup).tolist() == [[0, 15], [9, 8]]
    assert lookup.operand(1).values.dtype == np.uint8
