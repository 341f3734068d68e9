"""Launches: a kernel template, the grid it runs over, and the tensors bound to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ...ir import Array, Op, Shape, Tensor
from ...target import Target
from .storage import bhwc, slice_count
from .tile import Tile
from .view import View

Grid = tuple[int, int, int]
WorkGroup = tuple[int, int, int]


class Constant(Protocol):
    """An array, or what numpy converts to one when it is needed."""

    @property
    def size(self) -> int:
        """The number of elements."""

    def __array__(self, dtype: Any = None) -> Array:
        """The content."""


@dataclass(frozen=True)
class Launch:
    """One kernel template over one grid, before it is rendered.

    The keys of `reads`, `writes`, `constants` and `packed` are roles: the names the template uses.
    `constants` are arrays in the order in which the kernel reads them; for kernels that compute
    slices, the last axis is the slice width.
    """

    template: str
    grid: Grid  # Work-items per axis, before rounding up to whole work-groups.
    reads: Mapping[str, Tensor]
    writes: Mapping[str, Tensor]
    constants: Mapping[str, Constant] = field(default_factory=dict)
    # Everything else the template refers to.
    variables: Mapping[str, Any] = field(default_factory=dict)
    group: WorkGroup | None = None  # The work-group the algorithm requires; None if any will do.
    why: str = ""  # Why tile and work-group were chosen, for people; set together with `group`.
    # Whether the kernel treats height and width of all its tensors as one axis.
    flatten: bool = False
    # For a kernel that only copies: the view that would replace it, or why there is none. None for
    # any other kernel.
    view: View | str | None = None
    # Batches along the last axis of the grid, if not those of the tensor written.
    batches: int | None = None
    variant: str = ""  # What the kernel's name adds to that of its template.
    # Whether the kernel reads weights two slices at a time where that is one load.
    pairs: bool = False
    # The roles of which the kernel can read or write neighbouring pixels of a row at once, and how
    # many there are, where the language has elements for that and none would lie in two rows.
    joined: Mapping[str, int] = field(default_factory=dict)
    # The roles of which the kernel reads whole slices, where they are row-major.
    whole_slices: Collection[str] = ()
    # Whether each work-item does much work, as in a convolution; work-groups are then small.
    heavy: bool = False
    # For each role that holds indices, what they must stay below: a limit for each entry of the
    # last axis, or one for all of them.
    limits: Mapping[str, Sequence[int]] = field(default_factory=dict)
    # Constants that are stored in fewer bits, each slice by slice in an array of its own.
    packed: Mapping[str, Tensor] = field(default_factory=dict)
    flops: int = 0  # Floating-point operations, a multiply-add counting as two.

    @classmethod
    def of(cls, op: Op, template: str, grid: Grid, **others: Any) -> Launch:
        """A launch that reads input 0 as `x` and writes the output as `y`, or other `reads`."""
        bound = {"reads": {"x": op.operand(0)}, "writes": {"y": op.output}}
        return cls(template, grid, **{**bound, **others})

    @property
    def tile(self) -> Tile | None:
        """The tile passed to the template; None if the kernel has none."""
        tile = self.variables.get("tile")
        return tile if isinstance(tile, Tile) else None


def sliced_grid(shape: Shape, target: Target, flatten: bool = False) -> Grid:
    """One work-item per slice of each pixel: (columns, rows, batches * slices).

    With `flatten`, (rows * columns, 1, batches * slices).
    """
    batch, height, width, channels = bhwc(shape)
    outer = batch * slice_count(channels, target)
    return (height * width, 1, outer) if flatten else (width, height, outer)


# Work-items per row of a row-major kernel's grid, which keeps the group count within limits.
LINEAR_ROW = 1 << 20


def linear_grid(elements: int) -> Grid:
    """One work-item per element, in rows of LINEAR_ROW."""
    return (min(elements, LINEAR_ROW), -(-elements // LINEAR_ROW), 1)


def linear_launch(op: Op, template: str, **others: Any) -> Launch:
    """`Launch.of` with one work-item per element of the output, in a `linear_grid`."""
    return Launch.of(op, template, linear_grid(op.output.elements), **others)


def image_launch(
    op: Op, target: Target, template: str, variables: Mapping[str, Any], flops: int = 0
) -> Launch:
    """A launch that reads input 0 as `x` and writes the output as `y`, over `sliced_grid`."""
    grid = sliced_grid(op.output.shape, target)
    return Launch.of(op, template, grid, variables=variables, flops=flops)
