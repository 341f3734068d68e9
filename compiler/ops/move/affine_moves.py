"""Moves: each output element is the input element at coordinates that are affine in the output's.

Coordinates outside the input are folded back into it, or the element is a fill value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ...ir import Array, Op, Shape, Tensor
from ...language.expression import TRUE, Expression, Name, Operand, expression
from ...language.functions import every, horner, maximum, minimum
from ..base.launch import Grid, Launch
from ..base.storage import bhwc
from ..base.view import row_major_view


@dataclass(frozen=True)
class Axis:
    """The coordinate along one input axis: start + step * (coordinate along output axis `of`)."""

    of: int
    start: int = 0
    step: int = 1
    # What lies outside the input: "wrap" repeats it, "symmetric" mirrors it including the edge,
    # "reflect" mirrors it without the edge; "" if nothing is folded.
    fold: str = ""


@dataclass(frozen=True)
class Move:
    """Where each element of an output of shape `shape` comes from; one `Axis` per input axis."""

    shape: Shape
    axes: tuple[Axis, ...]
    fill: float | None = None  # The value outside the input; None if no coordinate lies outside.

    @property
    def permutes(self) -> bool:
        """Whether it brings all axes, which stay as they are, into another order."""
        whole = all((axis.start, axis.step, axis.fold) == (0, 1, "") for axis in self.axes)
        order = sorted(axis.of for axis in self.axes)
        return whole and self.fill is None and order == list(range(len(self.shape)))

    def of_images(self) -> Move:
        """The same move with leading axes of size 1, so that input and output have four."""
        output_shift = 4 - len(self.shape)
        axes = [replace(axis, of=axis.of + output_shift) for axis in self.axes]
        front = [Axis(0, 0, 0)] * (4 - len(self.axes))
        return Move((1,) * output_shift + self.shape, (*front, *axes), self.fill)

    def block(self, shape: Shape) -> tuple[int, ...] | None:
        """Where in an input of shape `shape` the output starts; None if no contiguous block."""
        if len(self.axes) != len(self.shape):
            return None
        for position, (axis, size, extent) in enumerate(
            zip(self.axes, self.shape, shape, strict=True)
        ):
            along = size == 1 or (axis.of, axis.step) == (position, 1)
            if not along or axis.start < 0 or axis.start + size > extent:
                return None
        return tuple(axis.start for axis in self.axes)

    def merged(self, shape: Shape, lanes: int = 1) -> tuple[Move, Shape]:
        """The same move with axes as one that neighbour each other in input and output, and the
        input's shape then; rows of either only of whole slices, since there may be gaps between.
        """
        sizes, axes, extents = list(self.shape), list(self.axes), list(shape)
        for position in reversed(range(1, len(axes))):
            outer, inner = axes[position - 1 : position + 1]
            count, size = (sizes[axis.of] for axis in (outer, inner))
            used = [axis.of for axis in axes]
            if (
                inner.of != outer.of + 1
                or used.count(inner.of) + used.count(outer.of) > 2
                or inner != Axis(inner.of)
                or outer != Axis(outer.of, outer.start)
                or size != extents[position]
                or not 0 <= outer.start <= extents[position - 1] - count
                or (size % lanes and (position == len(axes) - 1 or inner.of == len(sizes) - 1))
            ):
                continue
            sizes[outer.of : inner.of + 1] = [count * size]
            extents[position - 1 : position + 1] = [extents[position - 1] * size]
            axes[position - 1 : position + 1] = [Axis(outer.of, outer.start * size)]
            axes = [replace(axis, of=axis.of - (axis.of > outer.of)) for axis in axes]
        return Move(tuple(sizes), tuple(axes), self.fill), tuple(extents)

    def apply(self, x: Array) -> Array:
        if not x.size:
            return np.full(self.shape, self.fill or 0, x.dtype)
        grids = np.indices(self.shape, sparse=True)
        index = [
            fold(axis, axis.start + axis.step * grids[axis.of], size)
            for axis, size in zip(self.axes, x.shape, strict=True)
        ]
        outside = [(i < 0) | (i >= n) for i, n in zip(index, x.shape, strict=True)]
        clipped = [np.clip(i, 0, n - 1) for i, n in zip(index, x.shape, strict=True)]
        moved = np.broadcast_to(x[tuple(clipped)] if clipped else x, self.shape)
        if self.fill is None or not outside:
            return np.ascontiguousarray(moved)
        anywhere = np.zeros(self.shape, bool)
        for axis in outside:
            anywhere |= axis
        return np.where(anywhere, np.asarray(self.fill, x.dtype), moved)


Coordinates = Mapping[int, Operand]  # The coordinate along each axis, or those that matter.


def fold(axis: Axis, index: Array, size: int) -> Array:
    """Coordinates folded into an input axis of size `size`, in numpy."""
    if axis.fold == "wrap":
        return np.asarray(index % size)
    if axis.fold:
        double = 1 if axis.fold == "symmetric" else 0
        index = np.maximum(index, -double - index)
        index = np.minimum(index, 2 * size - 2 + double - index)
    return index


def folded(axis: Axis, coordinate: Expression, size: int) -> Expression:
    """A coordinate in a kernel, folded into an input axis of size `size`."""
    if axis.fold == "wrap":
        return coordinate % size
    if axis.fold:
        double = 1 if axis.fold == "symmetric" else 0
        coordinate = maximum(coordinate, -double - coordinate)
        return minimum(coordinate, 2 * size - 2 + double - coordinate)
    return coordinate


def bounds(axis: Axis, coordinate: Expression, size: int, extent: int) -> Expression:
    """The condition, where needed, that a coordinate is inside an input axis of size `size`."""
    ends = (axis.start, axis.start + axis.step * (extent - 1))
    low = coordinate >= 0 if min(ends) < 0 else TRUE
    return low & (coordinate < size if max(ends) >= size else TRUE)


def strides(move: Move, shape: Shape) -> list[int]:
    """How far apart neighbours along each axis of the result are in an input of this shape."""
    apart = [0] * len(move.shape)
    for position, axis in enumerate(move.axes):
        if axis.step:
            apart[axis.of] += axis.step * prod(shape[position + 1 :])
    return apart


@dataclass(frozen=True)
class Source:
    """Where elements of the result of a move lie in its input, an array of shape `shape`."""

    move: Move
    shape: Shape

    def depends_on(self, along: int) -> bool:
        """Whether where an element comes from depends on its coordinate along an axis."""
        bounded = self.move.fill is not None
        return any(
            axis.of == along and axis.step and (size > 1 or (bounded and not axis.fold))
            for axis, size in self._axes
        )

    def coordinates(self, at: Coordinates) -> list[Expression]:
        """The coordinates in the input of the element at these coordinates."""
        return [self._along(axis, size, at) for axis, size in self._axes]

    def index(self, at: Coordinates) -> Expression:
        """Its flat index there."""
        return horner(*zip(self.coordinates(at), self.shape, strict=True))

    def result_index(self, at: Coordinates) -> Expression:
        """The flat index in the result of the element at these coordinates."""
        return horner(*((at[axis], size) for axis, size in enumerate(self.move.shape)))

    def inside(self, at: Coordinates) -> Expression:
        """The condition that there is one."""
        return every(*self._inside(at, self._axes))

    def row_inside(self, at: Coordinates) -> Expression:
        """The condition that the row at these coordinates has elements in the input."""
        across = [each for each in self._axes if not self._along_rows(each[0])]
        return every(*self._inside(at, across))

    def in_one_piece(self, lanes: int, at: Coordinates) -> Expression:
        """The condition that a slice from these coordinates on lies within a row, and its elements,
        as far as that depends on columns, at equal distances in the input.
        """
        last, columns = len(self.move.shape) - 1, self.move.shape[-1]
        column = expression(at[last])
        conditions = [TRUE if columns % lanes == 0 else column + (lanes - 1) < columns]
        for axis, size in self._axes:
            if not self._along_rows(axis):
                continue
            first = self._along(axis, size, at)
            final = self._along(axis, size, {**at, last: column + (lanes - 1)})
            ends = (axis.start, axis.start + axis.step * (columns - 1))
            if axis.fold:
                conditions.append((final - first).equals((lanes - 1) * axis.step))
            elif self.move.fill is not None:
                low, high = (first, final) if axis.step > 0 else (final, first)
                conditions.append(low >= 0 if min(ends) < 0 else TRUE)
                conditions.append(high < size if max(ends) >= size else TRUE)
        return every(*conditions)

    def whole_slices(self, lanes: int) -> bool:
        """Whether that holds for every slice of a row."""
        anywhere = {axis: Name(f"i{axis}") for axis in range(len(self.move.shape))}
        return self.in_one_piece(lanes, anywhere) == TRUE

    @property
    def _axes(self) -> list[tuple[Axis, int]]:
        return list(zip(self.move.axes, self.shape, strict=True))

    def _along_rows(self, axis: Axis) -> bool:
        return axis.of == len(self.move.shape) - 1 and axis.step != 0

    def _along(self, axis: Axis, size: int, at: Coordinates) -> Expression:
        return folded(axis, expression(at[axis.of]) * axis.step + axis.start, size)

    def _inside(self, at: Coordinates, axes: Iterable[tuple[Axis, int]]) -> Iterator[Expression]:
        for axis, size in axes if self.move.fill is not None else ():
            yield bounds(axis, self._along(axis, size, at), size, self.move.shape[axis.of])


@dataclass(frozen=True)
class Moved:
    """A result of an operator, and the tensor that it comes from."""

    op: Op
    result: Tensor
    source: Tensor
    move: Move

    def images(self) -> Source:
        """Where elements come from, in four axes."""
        return Source(self.move.of_images(), bhwc(self.source.shape))

    def rows(self, lanes: int = 1) -> Source:
        """Where they come from, with as few axes as slices of rows allow."""
        return Source(*self.move.merged(self.source.shape, lanes))

    def in_rows(self, template: str, grid: Grid, **variables: object) -> Launch:
        """The launch of a kernel on row-major tensors."""
        source, result, view = self.source, self.result, None
        if (starts := self.move.block(source.shape)) is not None:
            view = row_major_view(result, source, self.move.shape, starts)
        return Launch(template, grid, {"x": source}, {"y": result}, variables=variables, view=view)
