"""EMBEDDING_LOOKUP: rows of a quantized table, as integers or as floats.

Floats are computed of the rows alone: the table stays as it is, and has a byte or half of one for
each number.
"""

import numpy as np

from ...ir import Array, Tensor, constant
from ...ops.indexing.lookup import NAME as LOOKUP
from ...ops.indexing.lookup import in_halves
from ...ops.layers.weights import LEAST
from .blocks import scales_of_blocks
from .lowering import INTEGERS, PACKED, Lowering, lowers
from .moves import check_packed_rows, gather_packed


@lowers("EMBEDDING_LOOKUP")
def embedding_lookup(here: Lowering) -> Tensor:
    """The stored integers whatever their scales; or floats, of these times the scale."""
    op = here.op
    ids, table, result = op.operand(0), op.operand(1), op.output
    if table.dtype == result.dtype == "int4" and table.constant:
        return gather_packed(here, table, ids)
    if result.dtype != "float32":
        _check_alike(here, table, result)
        rows = here.add(op.name, ids, here.centered(table), dtype="float32")
        return here.reinterpreted(rows, table, result)
    if table.dtype not in ("int8", *PACKED):
        raise here.declined(f"its table is {table.dtype}, whose bytes LiteRT takes for int8")
    if here.zero(table):
        raise here.declined("its table has a zero point other than 0, which LiteRT refuses")
    if table.data is None:
        raise here.declined("its table is computed while the model runs")
    check_packed_rows(here, table)
    bits = 4 if table.dtype == "int4" else 8
    packed = in_halves(table.data).reshape(table.shape[0], -1) if bits == 4 else table.data
    numbers = constant(f"{table.name}/packed", packed, tied=table.tied)
    least = LEAST[4] if bits == 4 else 0
    attrs = {"bits": bits, "shape": table.shape, "least": least, "blocks": _blocks(table)}
    rows = here.add(LOOKUP, ids, numbers, dtype="float32", **attrs)
    return _scaled(here, rows, ids, table)


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
