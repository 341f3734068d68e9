"""The fewest operators to keep in single precision, as runs of copies of the model tell them.

Operators are tried in groups that follow each other: most lose little, and a group that loses
little need not be divided. A model of 300 operators takes tens of trials so, not hundreds.
"""

from collections.abc import Collection, Sequence
from functools import cached_property

from .losses import Losses

# Share of what may be lost in all that a group of operators may lose without being divided.
LITTLE = 0.125


class Fewest:
    """Finds operators, named by their indices."""

    def __init__(self, losses: Losses, allowed: float) -> None:
        """`allowed` is the error that the outputs may have."""
        self._losses, self._little = losses, LITTLE * allowed

    def within(self, tolerance: float) -> tuple[int, ...]:
        """Operators with which all samples are within the tolerance; none can be left out."""
        if self._losses.suffices((), tolerance):
            return ()
        ranked = self._ranked
        few, enough = 0, len(ranked)
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (
                (few, middle)
                if self._losses.suffices(ranked[:middle], tolerance)
                else (middle, enough)
            )
        kept = ranked[:enough]
        return tuple(sorted(self._without(kept, kept, tolerance)))

    def most_costly(self, count: int, others: Collection[int]) -> list[int]:
        """So many operators that lose most, beside others."""
        return [op for op in self._ranked if op not in others][:count]

    @cached_property
    def _ranked(self) -> list[int]:
        """All operators, those first that lose most if they alone are rounded."""
        losses: dict[int, float] = {}
        groups: list[Sequence[int]] = [self._losses.operators]
        while groups:
            group = groups.pop()
            loss = self._losses.of_rounding(group)
            if len(group) < 2 or loss <= self._little:
                losses |= {op: loss / len(group) for op in group}
            else:
                groups += _halves(group)
        return sorted(losses, key=lambda op: -losses[op])

    def _without(self, kept: list[int], group: Sequence[int], tolerance: float) -> list[int]:
        """What is kept, less those of a group that can be left out; the last ones first."""
        others = [op for op in kept if op not in group]
        if self._losses.suffices(others, tolerance):
            return others
        if len(group) > 1:
            first, last = _halves(group)
            kept = self._without(kept, last, tolerance)
            kept = self._without(kept, first, tolerance)
        return kept


def _halves(group: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    middle = len(group) // 2
    return group[:middle], group[middle:]
