"""The position of a work-item in the output."""

from __future__ import annotations

from dataclasses import dataclass

from ..language import Operand


@dataclass(frozen=True)
class Position:
    """Batch, row, column and slice, or a flat index."""

    batch: Operand = 0
    row: Operand = 0
    column: Operand = 0
    slice: Operand = 0
    index: Operand = 0
    lanes: int = 0
    """How many elements of a row follow from the flat index on; 0 for that element alone."""
