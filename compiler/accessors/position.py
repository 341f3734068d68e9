"""Where a work-item stands, in texts of integer expressions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """Where a work-item stands in the output: batch, row, column and slice, or a flat index."""

    batch: str = "0"
    row: str = "0"
    column: str = "0"
    slice: str = "0"
    index: str = "0"
