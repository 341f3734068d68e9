"""The coordinates of a work-item, which kernels start by reading."""

from __future__ import annotations

from math import prod

from ..ir import Shape
from ..language import INT, Expression, Name, Number
from ..language.statement import Assign, Declare, Statements, statements
from ..ops.base import LINEAR_ROW, Launch
from ..ops.base.launch import Grid

AXES = ("gx", "gy", "gs")
"""Variables for a work-item's index along each axis: usually column, row and slice."""


class WorkItem:
    """The coordinates of a work-item, declared only if a template asks for them.

    A coordinate that is 0 for every work-item is the number instead of a variable.
    """

    def __init__(self, launch: Launch, grid: Grid, batches: int) -> None:
        """`grid` is that of the launch, rounded up to whole work-groups."""
        self._sizes, self._grid, self._batches = launch.grid, grid, batches
        self._outer = launch.grid[2] // batches
        self._ragged = [axis for axis in range(3) if grid[axis] != launch.grid[axis]]
        self.declared: dict[int, str] = {}
        """The variables that the kernel needs, by axis."""

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
        """Statements that return from work-items outside the grid and split off the batch.

        The last axis then continues within the batch as `gs`.
        """
        entered = self.enter_grid()
        if self._batches == 1 or self._outer == 1:
            return entered
        batch = Declare(INT, "gb", value=f"gs / {self._outer}")
        return Statements((*entered.items, batch, Assign("gs", "%=", f"{self._outer}")))

    def enter_grid(self) -> Statements:
        """The statement that returns from work-items outside the grid; batches stay in it."""
        for axis, size in enumerate(self._grid):
            if size > 1:
                self.declared[axis] = AXES[axis]
        outside = " || ".join(f"{AXES[axis]} >= {self._sizes[axis]}" for axis in self._ragged)
        return statements([f"if ({outside}) return;" if outside else ""])

    def enter_linear(self, shape: Shape) -> Statements:
        """Statements that number work-items by the elements of a shape, as `index`."""
        count = prod(shape)
        if count <= LINEAR_ROW:
            self.declared[0] = "index"
            return statements([f"if (index >= {count}) return;" if 0 in self._ragged else ""])
        # Not gx and gy, which may be the coordinates of the element's pixel.
        self.declared |= {0: "grid_column", 1: "grid_row"}
        index = Declare(INT, "index", value=f"grid_row * {LINEAR_ROW} + grid_column")
        beyond = f"if (index >= {count}) return;" if count % LINEAR_ROW else ""
        return statements([Statements((index,)), beyond])
