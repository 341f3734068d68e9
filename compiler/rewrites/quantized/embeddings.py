"""EMBEDDING_LOOKUP: rows of a quantized table, as integers or as floats."""

from __future__ import annotations

from ...ir.dequantize import dequantized
from .lowering import INTEGERS, Lowering, lowers


@lowers("EMBEDDING_LOOKUP")
def embedding_lookup(lowering: Lowering) -> None:
    """The stored integers whatever their scales; or floats, of int8 or int4 times the scale."""
    op = lowering.op
    ids, table, result = op.operand(0), op.operand(1), op.output
    if result.dtype in INTEGERS:
        rows = lowering.add(op.name, ids, lowering.centered(table), dtype="float32")
        lowering.finish_centered(lowering.reinterpreted(rows, table, result))
        return
    if table.dtype not in ("int8", "int4"):
        raise lowering.declined(f"its table is {table.dtype}, whose bytes LiteRT takes for int8")
    if lowering.zero(table):
        raise lowering.declined("its table has a zero point other than 0, which LiteRT refuses")
    values = dequantized(table)
    if values is None:
        raise lowering.declined("its table is computed while the model runs")
    rows = lowering.add(op.name, ids, lowering.constant(values), dtype="float32")
    lowering.finish(rows)
