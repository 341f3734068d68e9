"""The position of a work-item in the output."""

from dataclasses import KW_ONLY, dataclass

from ..ir import Shape
from ..language.expression import Expression, Operand, expression
from ..language.functions import coordinate


@dataclass(frozen=True)
class Position:
    """Batch, row, column and slice, or a flat index."""

    batch: Operand = 0
    row: Operand = 0
    column: Operand = 0
    slice: Operand = 0
    _: KW_ONLY
    index: Operand = 0
    # How many elements of a row follow from the flat index on; 0 for that element alone.
    lanes: int = 0
    some: range = range(0)  # Which of these are stored; empty for all.
    # The number of the row among all, and the place in it, if the kernel has them at hand.
    within: tuple[Operand, Operand] | None = None

    def coordinates(self, shape: Shape) -> list[Expression]:
        """Those of the flat index along each axis of a tensor of that shape."""
        if self.within is None:
            return [coordinate(self.index, axis, shape) for axis in range(len(shape))]
        (row, place), rows = self.within, shape[:-1]
        return [*(coordinate(row, axis, rows) for axis in range(len(rows))), expression(place)]
