"""Launches: which kernel templates run, over which grids, on which tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...ir import Array, Op, Shape, Tensor
from ...target import Target
from .storage import bhwc, slice_count
from .tile import Tile
from .view import View

Grid = tuple[int, int, int]
WorkGroup = tuple[int, int, int]


@dataclass(frozen=True)
class Launch:
    """One kernel template over one grid, before it is rendered.

    Roles are the names tensors have in the template. `constants` are arrays that already have
    the order the kernel reads them in; with sliced kernels their last axis is the slice width.
    """

    template: str
    grid: Grid
    """Work-items that have something to do."""
    reads: Mapping[str, Tensor]
    writes: Mapping[str, Tensor]
    constants: Mapping[str, Array] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    """What else the template may name: literals, already final."""
    group: WorkGroup | None = None
    """The work-group the algorithm needs; None where the device's usual one is as good."""
    why: str = ""
    """Why tile and work-group are what they are, for people; set together with the group."""
    flatten: bool = False
    """Whether the kernel takes height and width of all its tensors as one axis."""
    view: View | str | None = None
    """The view that makes a kernel superfluous which only copies, or why there is none; None for a
    kernel that does more than copy."""
    batches: int | None = None
    """Batches along the last axis of the grid, where they are not those of what is written."""
    heavy: bool = False
    """Whether a work-item does much, as in a convolution; work-groups are small then."""
    flops: int = 0

    @property
    def tile(self) -> Tile | None:
        """The tile of a convolution, by which its template knows it."""
        tile = self.variables.get("tile")
        return tile if isinstance(tile, Tile) else None


def sliced_grid(shape: Shape, target: Target, flatten: bool = False) -> Grid:
    """One work-item for each slice of each pixel: columns, rows, batches times slices."""
    batch, height, width, channels = bhwc(shape)
    outer = batch * slice_count(channels, target)
    return (height * width, 1, outer) if flatten else (width, height, outer)


LINEAR_ROW = 1 << 20
"""Work-items in a row of the grid of a linear kernel, so that the count of groups stays legal."""


def linear_grid(elements: int) -> Grid:
    """One work-item for each element."""
    return (min(elements, LINEAR_ROW), -(-elements // LINEAR_ROW), 1)


def image_launch(
    op: Op, target: Target, template: str, variables: Mapping[str, Any], flops: int = 0
) -> Launch:
    """A launch from one feature map to another, with the grid of `sliced_grid`."""
    grid = sliced_grid(op.output.shape, target)
    reads, writes = {"x": op.operand(0)}, {"y": op.output}
    return Launch(template, grid, reads, writes, variables=variables, flops=flops)
