"""Where a work-item stands in the grid of its launch: what kernels begin with."""

from __future__ import annotations

from math import prod

from ..ir import Shape
from ..ops.base import LINEAR_ROW, Launch
from ..ops.base.launch import Grid

AXES = ("gx", "gy", "gs")
"""The variables of a work-item's numbers: its column, its row, and its slice or what else."""


class WorkItem:
    """The variables that say where a work-item stands, as far as a template asks for them.

    A coordinate that is 0 for every work-item is no variable, but the text 0.
    """

    def __init__(self, launch: Launch, grid: Grid, batches: int) -> None:
        """Of a launch whose `grid` is rounded up to whole work-groups."""
        self._sizes, self._grid, self._batches = launch.grid, grid, batches
        self._outer = launch.grid[2] // batches
        self._ragged = [axis for axis in range(3) if grid[axis] != launch.grid[axis]]
        self.declared: dict[int, str] = {}
        """The names of the numbers that the kernel needs, by their axes."""

    @property
    def coordinates(self) -> dict[str, str]:
        """Column, row, slice and batch, as texts."""
        columns, rows, _ = self._sizes
        several = self._batches > 1
        return {
            "gx": "gx" if columns > 1 else "0",
            "gy": "gy" if rows > 1 else "0",
            "gs": "gs" if self._outer > 1 else "0",
            "batch": ("gb" if self._outer > 1 else "gs") if several else "0",
        }

    def enter(self) -> str:
        """Let work-items past the end of the grid return, and split the last axis into batches.

        Within a batch the last axis goes on as `gs`.
        """
        lines = [self.enter_grid()]
        if self._batches > 1 and self._outer > 1:
            lines += [f"int gb = gs / {self._outer};", f"gs %= {self._outer};"]
        return "\n".join(lines)

    def enter_grid(self) -> str:
        """The same without batches."""
        for axis, size in enumerate(self._grid):
            if size > 1:
                self.declared[axis] = AXES[axis]
        outside = " || ".join(f"{AXES[axis]} >= {self._sizes[axis]}" for axis in self._ragged)
        return f"if ({outside}) return;" if outside else ""

    def enter_linear(self, shape: Shape) -> str:
        """The same where work-items are numbered by the elements of a shape, as `index`."""
        count = prod(shape)
        if count <= LINEAR_ROW:
            self.declared[0] = "index"
            return f"if (index >= {count}) return;" if 0 in self._ragged else ""
        self.declared |= {0: AXES[0], 1: AXES[1]}
        lines = [f"int index = gy * {LINEAR_ROW} + gx;"]
        if count % LINEAR_ROW:
            lines.append(f"if (index >= {count}) return;")
        return "\n".join(lines)
