"""Rows of quantized tables, as integers or as floats: EMBEDDING_LOOKUP, and GATHER along rows.

Numbers are computed of the rows alone: the table stays as it is, and has a byte or half of one for
each.
"""

from math import prod

import numpy as np

from ...ir import Array, Op, Tensor, constant
from ...ops.elementwise.centered import FROM_CENTERED
from ...ops.indexing.lookup import NAME as LOOKUP
from ...ops.indexing.lookup import in_halves
from ...ops.layers.weights import LEAST
from .blocks import scales_of_blocks
from .lowering import INTEGERS, PACKED, Lowering, lowers

_BYTES = ("int8", "uint8")  # The types that have a byte for each number; int2 is held so, too.


@lowers("EMBEDDING_LOOKUP")
def embedding_lookup(here: Lowering) -> Tensor:
    """The stored integers whatever their scales; or floats, of these times the scale."""
    op = here.op
    ids, table, result = op.operand(0), op.operand(1), op.output
    if table.dtype == result.dtype == "int4" and table.constant:
        return _packed_rows(here, table, ids)
    if result.dtype != "float32":
        _check_alike(here, table, result)
        return here.reinterpreted(_rows(here, table, ids), table, result)
    if table.dtype not in ("int8", *PACKED):
        raise here.declined(f"its table is {table.dtype}, whose bytes LiteRT takes for int8")
    if here.zero(table):
        raise here.declined("its table has a zero point other than 0, which LiteRT refuses")
    if not table.constant:
        raise here.declined("its table is computed while the model runs")
    check_packed_rows(here, table)
    return _scaled(here, _rows(here, table, ids), ids, table)


def takes_rows(op: Op) -> bool:
    """Whether a GATHER takes rows of a constant table that stays packed."""
    table = op.operand(0)
    return not op.attrs.get("axis") and table.constant and table.dtype in ("int4", *_BYTES)


def gather_rows(here: Lowering) -> Tensor:
    """What a GATHER takes of such a table."""
    table, indices = here.op.operand(0), here.op.operand(1)
    if table.dtype == "int4":
        return _packed_rows(here, table, indices)
    return here.reinterpreted(_rows(here, table, indices), table, here.op.output)


def _packed_rows(here: Lowering, table: Tensor, indices: Tensor) -> Tensor:
    """Rows of a table of int4, as int8; LiteRT copies the bytes that hold two integers each."""
    result = here.op.output
    check_packed_rows(here, table)
    if here.zero(table) != here.zero(result):
        raise here.declined("its operand and its result have unlike zero points")
    rows = _rows(here, table, indices)
    integers = here.add(FROM_CENTERED, rows, dtype="int8", zero_point=here.zero(result))
    integers.quantization = result.quantization
    return integers


def _rows(here: Lowering, table: Tensor, indices: Tensor) -> Tensor:
    """The rows of a table that are named, less its zero point."""
    halved, zero = table.dtype == "int4", here.zero(table)
    packs = table.dtype in ("int4", "int2", *_BYTES)
    if table.data is None or not table.elements or not packs:
        return here.add("GATHER", here.centered(table), indices, axis=0, batch_dims=0)
    numbers = in_halves(table.data).reshape(table.shape[0], -1) if halved else table.data
    # Layers have tables with zero points in another form.
    packed = constant(f"{table.name}/packed", numbers, tied=table.tied and not zero)
    attrs = {
        "bits": 4 if halved else 8,
        "shape": table.shape,
        "least": LEAST[4] * halved - zero,
        "signed": not halved and table.dtype != "uint8",
        "blocks": _blocks(table),
    }
    return here.add(LOOKUP, indices, packed, dtype="float32", **attrs)


def check_packed_rows(here: Lowering, table: Tensor) -> None:
    """UnsupportedError for a packed table whose rows, or their blocks, do not begin with a byte.

    The file packs its numbers without gaps, but LiteRT takes each to begin with a byte, so that
    others are read some numbers too early.
    """
    row, size = prod(table.shape[1:]), table.elements
    each = PACKED.get(table.dtype, 1)
    for what, count in (("row", row), ("block", table.blocks.size if table.blocks else row)):
        if count % each and count < size:
            raise here.declined(
                f"a {what} of table {table.name} has {count} numbers of {table.dtype}, and "
                f"LiteRT misplaces {what}s that are no whole bytes",
                f"make its {what}s a multiple of {each}, or quantize the table to int8",
            )


def _blocks(table: Tensor) -> int:
    """The number of blocks of a row that have scales; 0 if none have."""
    return table.shape[-1] // table.blocks.size if table.blocks else 0


def _check_alike(here: Lowering, table: Tensor, result: Tensor) -> None:
    """UnsupportedError for types of unlike sizes, whose bytes LiteRT copies nevertheless."""
    bits = [np.iinfo(t.dtype).bits if t.dtype in INTEGERS else None for t in (table, result)]
    if None in bits or bits[0] != bits[1]:
        raise here.declined(
            f"table {table.name} is {table.dtype}, whose bytes LiteRT copies to a result of "
            f"{result.dtype}",
            unsafe=True,
        )


def _scaled(here: Lowering, rows: Tensor, ids: Tensor, table: Tensor) -> Tensor:
    """Integers of rows times their scales: of the table, of each row or column, or of blocks."""
    if table.blocks is not None:
        return _scaled_blocks(here, rows, ids, table)
    scales = here.scales(table)
    if scales.ndim and table.quantization and not table.quantization.axis:
        own = _of_rows(here, scales, ids)
        factors = here.reshape(own, (*ids.shape, *(1,) * (len(table.shape) - 1)))
        return here.add("MUL", rows, factors)
    if scales.ndim:
        sizes = [1] * len(table.shape)
        sizes[table.quantization.axis if table.quantization else 0] = -1
        scales = scales.reshape(sizes[1:])
    return here.add("MUL", rows, here.constant(scales))


def _scaled_blocks(here: Lowering, rows: Tensor, ids: Tensor, table: Tensor) -> Tensor:
    """Integers times the scales of their blocks."""
    scales = scales_of_blocks(here, table)
    own = here.reshape(_of_rows(here, scales, ids), (*ids.shape, *scales.shape[1:], 1))
    cut = here.reshape(rows, (*ids.shape, *scales.shape[1:], -1))
    return here.reshape(here.add("MUL", cut, own), rows.shape)


def _of_rows(here: Lowering, values: Array, ids: Tensor) -> Tensor:
    """What belongs to the rows that are named."""
    return here.add("GATHER", here.constant(values), ids, axis=0, batch_dims=0)
