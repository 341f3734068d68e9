"""The coordinates of a work-item, which kernels start by reading."""

from collections.abc import Iterable
from functools import reduce
from math import prod
from operator import or_

from ...ir import Shape
from ...language.expression import FALSE, Expression, Name, Number
from ...language.statement import Assign, Declare, If, Return, Statements, body
from ...language.types import INT
from ...ops.base.launch import LINEAR_ROW, Grid, Launch

# Variables for a work-item's index along each axis: usually column, row and slice.
AXES = ("gx", "gy", "gs")


class WorkItem:
    """Its coordinates, declared if a template asks for them; one that is 0 for all is a number."""

    def __init__(self, launch: Launch, grid: Grid, batches: int) -> None:
        """`grid` is that of the launch, rounded up to whole work-groups."""
        self._sizes, self._grid, self._batches = launch.grid, grid, batches
        self._outer = launch.grid[2] // batches
        self._ragged = [axis for axis in range(3) if grid[axis] != launch.grid[axis]]
        self.declared: dict[int, str] = {}  # The variables that the kernel needs, by axis.

    @property
    def coordinates(self) -> dict[str, Expression]:
        """The expressions for column, row, slice and batch, by the names templates use."""
        columns, rows, _ = self._sizes
        several = self._batches > 1
        return {
            "gx": Name("gx") if columns > 1 else Number(0),
            "gy": Name("gy") if rows > 1 else Number(0),
            "gs": Name("gs") if self._outer > 1 else Number(0),
            "index": Name("index"),
            "batch": Name("gb" if self._outer > 1 else "gs") if several else Number(0),
        }

    def enter(self) -> Statements:
        """Return outside the grid and split off the batch; the last axis goes on in it as `gs`."""
        entered = self.enter_grid()
        if self._batches == 1 or self._outer == 1:
            return entered
        batch = Declare(INT, "gb", value=Name("gs") // self._outer)
        return body(*entered.items, batch, Assign(Name("gs"), "%=", Number(self._outer)))

    def enter_grid(self) -> Statements:
        """The statement that returns from work-items outside the grid; batches stay in it."""
        for axis, size in enumerate(self._grid):
            if size > 1:
                self.declared[axis] = AXES[axis]
        return _return_if(Name(AXES[axis]) >= self._sizes[axis] for axis in self._ragged)

    def enter_linear(self, shape: Shape) -> Statements:
        """Statements that number work-items by the elements of a shape, as `index`."""
        count = prod(shape)
        if count <= LINEAR_ROW:
            self.declared[0] = "index"
            return _return_if([Name("index") >= count] if 0 in self._ragged else [])
        # Not gx and gy, which may be the coordinates of the element's pixel.
        self.declared |= {0: "grid_column", 1: "grid_row"}
        place = Name("grid_row") * LINEAR_ROW + Name("grid_column")
        beyond = _return_if([Name("index") >= count] if count % LINEAR_ROW else [])
        return body(Declare(INT, "index", value=place), *beyond.items)


def _return_if(conditions: Iterable[Expression]) -> Statements:
    """The statement that returns if one of some conditions holds, if there are any."""
    any_of = reduce(or_, conditions, FALSE)
    return body() if any_of == FALSE else body(If(any_of, body(Return()), body()))
