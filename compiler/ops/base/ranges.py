"""Ranges of whole numbers: bounds of an operator's results, if all of them are whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir import Op

Range = tuple[int, int]
"""The least and the greatest number."""

RangeOf = Callable[[Op, Sequence[Range | None]], Range | None]
"""The range of an operator's results, from those of its operands by position; None stands for
numbers that may not be whole or are not known."""


def hull(ranges: Sequence[Range]) -> Range:
    """The smallest range that contains others, of which there is at least one."""
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def among_operands(op: Op, ranges: Sequence[Range | None]) -> Range | None:
    """The `RangeOf` an operator whose results are elements of its float operands, or 0."""
    found = [(0, 0)]
    for tensor, known in zip(op.inputs, ranges, strict=True):
        if tensor is not None and tensor.dtype == "float32":
            if known is None or not tensor.elements:
                return None
            found.append(known)
    return hull(found)


def by_attributes(op: Op, ranges: Sequence[Range | None]) -> Range:
    """The `RangeOf` an operator that rounds, and limits its results to `low` and `high`."""
    return int(op.attrs["low"]), int(op.attrs["high"])
