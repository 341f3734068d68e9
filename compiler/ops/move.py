"""Operators that only move elements: slices, pads, transposes, splits and repetitions.

All are described by a `Move`: each output element is the input element at coordinates that are
affine in the output's coordinates. Coordinates outside the input are folded back into it, or the
element is a fill value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ..ir import Array, Op, Shape, Tensor
from ..language import TRUE, Expression, maximum, minimum
from ..target import Target
from .base import (
    ANY,
    LINEAR,
    NO_TRAITS,
    Implementation,
    Infer,
    Launch,
    OpDef,
    Traits,
    View,
    bhwc,
    linear_grid,
    row_major_view,
    sliced_grid,
    sliced_view,
)
from .row_slices import no_row_slices, no_whole_rows


@dataclass(frozen=True)
class Axis:
    """The coordinate along one input axis: start + step * (coordinate along output axis `of`)."""

    of: int
    start: int = 0
    step: int = 1
    fold: str = ""
    """What lies outside the input: "wrap" repeats it, "symmetric" mirrors it including the edge,
    "reflect" mirrors it without the edge; "" if nothing is folded."""


@dataclass(frozen=True)
class Move:
    """Where each element of an output of shape `shape` comes from; one `Axis` per input axis."""

    shape: Shape
    axes: tuple[Axis, ...]
    fill: float | None = None
    """The value outside the input; None if no coordinate lies outside."""

    def of_images(self) -> Move:
        """The same move with leading axes of size 1, so that input and output have four."""
        output_shift = 4 - len(self.shape)
        axes = [replace(axis, of=axis.of + output_shift) for axis in self.axes]
        front = [Axis(0, 0, 0)] * (4 - len(self.axes))
        return Move((1,) * output_shift + self.shape, (*front, *axes), self.fill)

    def block(self, shape: Shape) -> tuple[int, ...] | None:
        """Coordinates in an input of shape `shape` at which the output starts, if it is a block.

        None if the output is not a contiguous block of the input.
        """
        if len(self.axes) != len(self.shape):
            return None
        for position, (axis, size, extent) in enumerate(
            zip(self.axes, self.shape, shape, strict=True)
        ):
            along = size == 1 or (axis.of, axis.step) == (position, 1)
            if not along or axis.start < 0 or axis.start + size > extent:
                return None
        return tuple(axis.start for axis in self.axes)

    def apply(self, x: Array) -> Array:
        """The move in numpy."""
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


Moves = Callable[[Op], Sequence[Move]]
"""The move that produces each output of an operator from its input."""


def fold(axis: Axis, index: Array, size: int) -> Array:
    """Coordinates folded into an input axis of size `size`, in numpy."""
    if axis.fold == "wrap":
        return np.asarray(index % size)
    if axis.fold:
        double = 1 if axis.fold == "symmetric" else 0
        index = np.maximum(index, -double - index)
        index = np.minimum(index, 2 * size - 2 + double - index)
    return index


def folded(axis: Axis, place: Expression, size: int) -> Expression:
    """A coordinate in a kernel, folded into an input axis of size `size`."""
    if axis.fold == "wrap":
        return place % size
    if axis.fold:
        double = 1 if axis.fold == "symmetric" else 0
        place = maximum(place, -double - place)
        return minimum(place, 2 * size - 2 + double - place)
    return place


def bounds(axis: Axis, place: Expression, size: int, extent: int) -> Expression:
    """The condition, where needed, that a coordinate is inside an input axis of size `size`."""
    ends = (axis.start, axis.start + axis.step * (extent - 1))
    low = place >= 0 if min(ends) < 0 else TRUE
    return low & (place < size if max(ends) >= size else TRUE)


def _sliced_view(tensor: Tensor, base: Tensor, move: Move, target: Target) -> View | str | None:
    starts = move.block(bhwc(base.shape))
    return None if starts is None else sliced_view(tensor, base, starts, target)


def _row_major_view(tensor: Tensor, base: Tensor, move: Move) -> View | str | None:
    starts = move.block(base.shape)
    return None if starts is None else row_major_view(tensor, base, move.shape, starts)


def _keeps_slices(move: Move, lanes: int) -> bool:
    """Whether whole slices of the output are whole slices of the input."""
    channel = move.axes[3]
    if channel.fold or any(axis.of == 3 and axis.step for axis in move.axes[:3]):
        return False
    return channel.of == 3 and channel.step == 1 and channel.start % lanes == 0


def _keeps_rows(move: Move, shape: Shape) -> bool:
    """Whether the rows of the result are parts of rows of the input, an array of shape `shape`."""
    last = len(move.shape) - 1
    if not move.axes or any(axis.of == last and axis.step for axis in move.axes[:-1]):
        return False
    column, columns = move.axes[-1], move.shape[-1]
    along = (column.of, column.step, column.fold) == (last, 1, "")
    return along and 0 <= column.start <= shape[-1] - columns


FEW_ROWS = 4
"""How many rows a kernel brings side by side, at most: it stores every element by itself."""


def _turns_few_rows(move: Move, shape: Shape, lanes: int) -> bool:
    """Whether the last axis of the result is short, and the one before it is a row of the input."""
    plain = all((axis.start, axis.step, axis.fold) == (0, 1, "") for axis in move.axes)
    order = [axis.of for axis in move.axes]
    last = len(move.shape) - 1
    if not plain or move.fill is not None or sorted(order) != list(range(last + 1)) or last < 1:
        return False
    return order[-1] == last - 1 and shape[-1] % lanes == 0 and 1 < move.shape[-1] <= FEW_ROWS


def implementations(source: Callable[[Op], Tensor], moves: Moves) -> tuple[Implementation, ...]:
    """The implementations of an operator whose outputs are moves of the tensor `source` returns."""

    def whole_images(op: Op, target: Target) -> str | None:
        lanes = target.lanes
        if any(
            move.fill is not None and _pads_lanes(move, source(op), lanes) for move in moves(op)
        ):
            return "it pads single channels"
        return small_rank(op, target)

    def small_rank(op: Op, target: Target) -> str | None:
        ranks = [len(source(op).shape), *(len(tensor.shape) for tensor in op.outputs)]
        if max(ranks) > 4:
            return f"rank {max(ranks)} is above 4"
        if any(move.shape != t.shape for move, t in zip(moves(op), op.results, strict=True)):
            return "it adds or drops axes"
        return None

    def turned(op: Op, target: Target) -> str | None:
        if all(axis.of == place for move in moves(op) for place, axis in enumerate(move.axes)):
            return "it keeps the order of the axes"
        return small_rank(op, target)

    def sliced(op: Op, target: Target) -> Sequence[Launch]:
        return [
            Launch(
                "move/move.jinja",
                sliced_grid(tensor.shape, target),
                {"x": source(op)},
                {"y": tensor},
                variables={
                    "move": move.of_images(),
                    "slices": Axis(3, move.axes[-1].start // target.lanes if move.axes else 0),
                    "whole": _keeps_slices(move.of_images(), target.lanes),
                    "folded": folded,
                    "bounds": bounds,
                },
                view=_sliced_view(tensor, source(op), move.of_images(), target),
            )
            for move, tensor in zip(moves(op), op.results, strict=True)
        ]

    def from_linear(op: Op, target: Target) -> Sequence[Launch]:
        return [
            Launch(
                "move/move_from_linear.jinja",
                sliced_grid(tensor.shape, target),
                {"x": source(op)},
                {"y": tensor},
                variables={"move": move.of_images(), "folded": folded, "bounds": bounds},
            )
            for move, tensor in zip(moves(op), op.results, strict=True)
        ]

    def linear(op: Op, target: Target) -> Sequence[Launch]:
        return [
            Launch(
                "move/move_linear.jinja",
                linear_grid(prod(tensor.shape)),
                {"x": source(op)},
                {"y": tensor},
                variables={"move": move, "folded": folded, "bounds": bounds, "prod": prod},
                view=_row_major_view(tensor, source(op), move),
            )
            for move, tensor in zip(moves(op), op.results, strict=True)
        ]

    def whole_rows(op: Op, target: Target) -> str | None:
        if any(not _keeps_rows(move, source(op).shape) for move in moves(op)):
            return "rows of the result are not parts of rows of the input"
        return no_whole_rows(op, target, op.epilogue_inputs, source(op))

    def rows(op: Op, target: Target) -> Sequence[Launch]:
        return [
            replace(
                launch,
                template="move/move_rows.jinja",
                grid=linear_grid(launch.writes["y"].elements // target.lanes),
            )
            for launch in linear(op, target)
        ]

    def few_rows(op: Op, target: Target) -> str | None:
        if any(not _turns_few_rows(move, source(op).shape, target.lanes) for move in moves(op)):
            return f"it does not bring whole slices of up to {FEW_ROWS} rows side by side"
        if op.epilogue:
            return "its epilogue is computed in the order of the result"
        return no_row_slices(op, target, (), source(op))

    def side_by_side(op: Op, target: Target) -> Sequence[Launch]:
        (launch,), (move,) = linear(op, target), moves(op)
        (turned,) = [
            place for place, axis in enumerate(move.axes) if axis.of == len(move.shape) - 1
        ]
        apart = prod(source(op).shape[turned + 1 :])
        grid = linear_grid(prod(move.shape[:-1]) // target.lanes)
        variables = {**launch.variables, "apart": apart}
        return [replace(launch, template="move/move_columns.jinja", grid=grid, variables=variables)]

    return (
        Implementation("move", sliced, whole_images),
        Implementation("move_rows", rows, whole_rows, reads=LINEAR, writes=LINEAR),
        Implementation("move_columns", side_by_side, few_rows, reads=LINEAR, writes=LINEAR),
        Implementation("move_linear", linear, reads=LINEAR, writes=LINEAR),
        Implementation("move_from_linear", from_linear, turned, reads=LINEAR),
    )


def _pads_lanes(move: Move, source: Tensor, lanes: int) -> bool:
    """Whether the fill value goes into some channels of a slice that has others of the source."""
    aligned = move.of_images()
    if _keeps_slices(aligned, lanes) and (1, *source.shape)[-1] % lanes == 0:
        return False
    return not _pads_pixels(aligned, source)


def _pads_pixels(aligned: Move, source: Tensor) -> bool:
    """Whether the fill value goes only into pixels: no channel lies outside the source's."""
    channel, channels = aligned.axes[3], (1, *source.shape)[-1]
    ends = (channel.start, channel.start + channel.step * (aligned.shape[channel.of] - 1))
    return min(ends) >= 0 and max(ends) < channels and channel.of == 3


def move_operator(
    name: str,
    infer: Infer,
    moves: Moves,
    source: int = 0,
    versions: int = 1,
    traits: Traits = NO_TRAITS,
) -> OpDef:
    """The definition of an operator whose outputs are moves of the operand at position `source`."""

    def reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
        position = [tensor is op.operand(source) for tensor in op.inputs].index(True)
        results = zip(moves(op), op.results, strict=True)
        return [move.apply(arrays[position]).reshape(out.shape) for move, out in results]

    rows = implementations(lambda op: op.operand(source), moves)
    return OpDef(
        name, infer, rows, reference, ANY, versions=versions, traits=replace(traits, moves=True)
    )
