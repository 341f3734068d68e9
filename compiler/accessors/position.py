"""The position of a work-item in the output."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Position:
    """Integer expressions for batch, row, column and slice, or for a flat index."""

    batch: str = "0"
    row: str = "0"
    column: str = "0"
    slice: str = "0"
    index: str = "0"
