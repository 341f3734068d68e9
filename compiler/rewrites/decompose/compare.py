"""STABLEHLO_COMPARE becomes TFLite's comparison."""

from __future__ import annotations

from ...ops.compare import DIRECTIONS, direction, in_total_order
from .decomposition import Decomposition, decomposes


@decomposes("STABLEHLO_COMPARE")
def compare(here: Decomposition) -> str | None:
    """In total order, a comparison would have to look at the bits of zeros and NaN."""
    if in_total_order(here.op):
        return "it compares in total order"
    name = DIRECTIONS[direction(here.op)][0]
    here.finish(here.add(name, here.op.operand(0), here.op.operand(1), dtype="bool"))
    return None
