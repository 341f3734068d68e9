"""Operators that only move elements: slices, pads, transposes, splits and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from ..ir import Array, Op, Shape, Tensor
from ..target import Target
from .affine_moves import Axis, Move, Source, strides
from .base import (
    ANY,
    LINEAR,
    NO_TRAITS,
    SLICED,
    Grid,
    Implementation,
    Infer,
    Launch,
    Traits,
    bhwc,
    define,
    linear_grid,
    row_major_view,
    slice_count,
    sliced_grid,
    sliced_view,
)
from .row_slices import no_row_slices

Moves = Callable[[Op], Sequence[Move]]
"""The move that produces each output of an operator from its input."""


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


SHORTEST_ROW = 2
"""How many elements of a row are worth a work-item of their own, at least."""

SLICES_AT_ONCE = 8
"""How many slices of one of many rows a work-item moves, at most: finding out where they come from
takes as long as moving one."""

MOST_SHORT_ROWS = 32
"""How many rows that are less than a slice a work-item moves, at most: a processor follows few
places that it reads or writes one after the other."""

PAGE = 1024
"""Elements of a page of memory: 4 KB."""

FEW_ROWS = 4
"""How many rows a kernel brings side by side, at most: it stores every element by itself."""


# -- images -----------------------------------------------------------------------------------


def _whole_images(moved: Moved, target: Target) -> str | None:
    if moved.move.fill is not None and _pads_lanes(moved, target.lanes):
        return "it pads single channels"
    return _few_axes(moved, target)


def _few_axes(moved: Moved, target: Target) -> str | None:
    rank = max(len(moved.source.shape), len(moved.result.shape))
    if rank > 4:
        return f"rank {rank} is above 4"
    return None if moved.move.shape == moved.result.shape else "it adds or drops axes"


def _turned(moved: Moved, target: Target) -> str | None:
    if all(axis.of == place for place, axis in enumerate(moved.move.axes)):
        return "it keeps the order of the axes"
    return _few_axes(moved, target)


def _from_linear(moved: Moved, target: Target) -> Launch:
    return Launch(
        "move/move_from_linear.jinja",
        sliced_grid(moved.result.shape, target),
        {"x": moved.source},
        {"y": moved.result},
        variables={"source": moved.images()},
    )


def _by_slices(moved: Moved, target: Target) -> Launch:
    """The launch that moves images, whole slices at once if it keeps them."""
    move, shape = moved.move.of_images(), bhwc(moved.source.shape)
    starts = move.block(shape)
    view = None if starts is None else sliced_view(moved.result, moved.source, starts, target)
    whole = _keeps_slices(move, target.lanes)
    if whole:
        slices = Axis(3, move.axes[3].start // target.lanes)
        count = slice_count(move.shape[3], target)
        move = Move((*move.shape[:3], count), (*move.axes[:3], slices), move.fill)
        shape = (*shape[:3], slice_count(shape[3], target))
    variables = {"source": Source(move, shape), "whole": whole}
    launch = _from_linear(moved, target)
    return replace(launch, template="move/move.jinja", variables=variables, view=view)


def _keeps_slices(move: Move, lanes: int) -> bool:
    """Whether whole slices of the output are whole slices of the input."""
    channel = move.axes[3]
    if channel.fold or any(axis.of == 3 and axis.step for axis in move.axes[:3]):
        return False
    return channel.of == 3 and channel.step == 1 and channel.start % lanes == 0


def _pads_lanes(moved: Moved, lanes: int) -> bool:
    """Whether the fill value goes into some channels of a slice that has others of the source."""
    move, channels = moved.move.of_images(), (1, *moved.source.shape)[-1]
    if _keeps_slices(move, lanes) and channels % lanes == 0:
        return False
    channel = move.axes[3]
    ends = (channel.start, channel.start + channel.step * (move.shape[channel.of] - 1))
    only_pixels = min(ends) >= 0 and max(ends) < channels and channel.of == 3
    return not only_pixels


# -- row-major tensors ------------------------------------------------------------------------


def _linear(moved: Moved, target: Target) -> Launch:
    grid = linear_grid(prod(moved.result.shape))
    return moved.in_rows("move/move_linear.jinja", grid, source=moved.rows())


def _of_rows(moved: Moved, target: Target) -> str | None:
    op, move = moved.op, moved.rows(target.lanes).move
    columns = move.shape[-1] if move.shape else 1
    if columns < (target.lanes if op.epilogue else SHORTEST_ROW):
        return f"rows of {columns} elements are too short"
    if sum(axis.of == len(move.shape) - 1 and axis.step != 0 for axis in move.axes) > 1:
        return "the elements of a row are not at equal distances"
    return no_row_slices(op, target, op.epilogue_inputs, moved.source)


def _by_rows(moved: Moved, target: Target) -> Launch:
    """The launch that moves rows, a slice a work-item, or several if they are in one piece.

    Slices of rows whose elements are apart in the input come in the order in which their first
    elements are neighbours there, since each takes a line of the processor's cache for every lane.
    """
    source = moved.rows(target.lanes)
    *outer, columns = source.move.shape
    *along, apart = strides(source.move, source.shape)
    order = list(range(len(outer)))
    rows, parts, at_once = prod(outer), slice_count(columns, target), 1
    if apart not in (0, 1):
        order.sort(key=lambda axis: -abs(along[axis]))
    elif rows > 1 and source.whole_slices(target.lanes):
        busy = target.device.work_items * target.device.light_group
        most = min(max(rows * parts // busy, 1), SLICES_AT_ONCE)
        at_once = max(n for n in range(1, most + 1) if parts % n == 0)
    return moved.in_rows(
        "move/move_rows.jinja",
        linear_grid(rows * parts // at_once),
        source=source,
        order=order,
        rows=rows,
        parts=parts,
        at_once=at_once,
        columns=columns,
        apart=apart,
    )


def _turns_more(move: Move) -> str | None:
    """Why a move does more than bring elements of blocks into another order; None if not."""
    if move.fill is not None or any(axis.fold for axis in move.axes):
        return "it does not only turn elements"
    if len({axis.of for axis in move.axes if axis.step}) < len(move.axes):
        return "it takes elements along a diagonal"
    return None


def _in_order(moved: Moved, target: Target) -> str | None:
    if moved.op.epilogue:
        return "its epilogue is computed in the order of the result"
    return no_row_slices(moved.op, target, (), moved.source)


def _of_short_rows(moved: Moved, target: Target) -> str | None:
    along = _short_rows(moved.rows(target.lanes), target.lanes)
    return along if isinstance(along, str) else _in_order(moved, target)


def _short_rows(source: Source, lanes: int) -> int | str:
    """The axis along which few short rows neighbour each other, in the input or in the result;
    otherwise what is in the way."""
    *outer, columns = source.move.shape or (1,)
    if more := _turns_more(source.move):
        return more
    *apart, within = strides(source.move, source.shape)
    if not SHORTEST_ROW <= columns < lanes or within != 1:
        return f"rows of {columns} elements are not short pieces of the input"
    several = [axis for axis, size in enumerate(outer) if size > 1]
    innermost = sorted(several, key=lambda axis: abs(apart[axis]))[:1] + several[-1:]
    for axis in innermost:
        if outer[axis] <= MOST_SHORT_ROWS:
            return axis
    return f"more than {MOST_SHORT_ROWS} rows neighbour each other"


def _by_short_rows(moved: Moved, target: Target) -> Launch:
    """The launch that moves all rows along an axis in one work-item, in the order of the side where
    these are nearer to each other."""
    source = moved.rows(target.lanes)
    along, shape = _short_rows(source, target.lanes), source.move.shape
    assert isinstance(along, int)
    apart, pitch = strides(source.move, source.shape), prod(shape[along + 1 :])
    order = [axis for axis in range(len(shape) - 1) if axis != along]
    if abs(apart[along]) < pitch:
        order.sort(key=lambda axis: -abs(apart[axis]))
    items = prod(shape[:-1]) // shape[along]
    return moved.in_rows(
        "move/move_short_rows.jinja",
        linear_grid(items),
        source=source,
        order=order,
        along=along,
        items=items,
        columns=shape[-1],
        apart=apart[along],
        pitch=pitch,
    )


def _of_squares(moved: Moved, target: Target) -> str | None:
    across = _across(moved.rows(target.lanes), target.lanes)
    if isinstance(across, str):
        return across
    return no_row_slices(moved.op, target, moved.op.epilogue_inputs, moved.source)


def _across(source: Source, lanes: int) -> int | str:
    """The axis along which a result has neighbours of the input, if slices fit there and along the
    last axis; otherwise what is in the way."""
    shape = source.move.shape
    if more := _turns_more(source.move):
        return more
    for axis, apart in enumerate(strides(source.move, source.shape)[:-1]):
        if apart == 1 and min(shape[axis], shape[-1]) >= lanes:
            return axis
    return f"no rows and columns of {lanes} elements and more change places"


def _by_squares(moved: Moved, target: Target) -> Launch:
    """The launch that turns squares of as many rows as a slice has lanes.

    Those of the same rows follow one another: of the input, or of the result if its rows are so
    long that each is on another page.
    """
    source, lanes = moved.rows(target.lanes), target.lanes
    shape, across = source.move.shape, _across(source, lanes)
    last = len(shape) - 1
    turned = (across, last) if shape[last] > PAGE else (last, across)
    order = [*(axis for axis in range(last) if axis != across), *turned]
    squares = [slice_count(shape[n], target) if n in turned else shape[n] for n in order]
    template, grid = "move/move_squares.jinja", linear_grid(prod(squares))
    return moved.in_rows(template, grid, source=source, order=order, squares=squares, across=across)


def _of_few_rows(moved: Moved, target: Target) -> str | None:
    """The last axis of the result must be short, and the one before it a row of the input."""
    move, last = moved.move, len(moved.move.shape) - 1
    plain = all((axis.start, axis.step, axis.fold) == (0, 1, "") for axis in move.axes)
    order = [axis.of for axis in move.axes]
    turns = plain and move.fill is None and sorted(order) == list(range(last + 1)) and last > 0
    whole = turns and order[-1] == last - 1 and moved.source.shape[-1] % target.lanes == 0
    if not whole or not 1 < move.shape[-1] <= FEW_ROWS:
        return f"it does not bring whole slices of up to {FEW_ROWS} rows side by side"
    return _in_order(moved, target)


def _side_by_side(moved: Moved, target: Target) -> Launch:
    shape, apart = moved.move.shape, strides(moved.move, moved.source.shape)[-1]
    grid, elements = linear_grid(prod(shape[:-1]) // target.lanes), prod(shape)
    template, source = "move/move_columns.jinja", moved.rows()
    return moved.in_rows(template, grid, source=source, apart=apart, elements=elements)


@dataclass(frozen=True)
class Kernel:
    """How each result of an operator is moved."""

    name: str
    launch: Callable[[Moved, Target], Launch]
    unsupported_reason: Callable[[Moved, Target], str | None]
    reads: str = LINEAR
    writes: str = LINEAR

    def implementation(self, moved: Callable[[Op], Sequence[Moved]]) -> Implementation:
        """That of an operator whose results are moved so."""

        def build(op: Op, target: Target) -> Sequence[Launch]:
            return [self.launch(each, target) for each in moved(op)]

        def reason(op: Op, target: Target) -> str | None:
            reasons = (self.unsupported_reason(each, target) for each in moved(op))
            return next(filter(None, reasons), None)

        return Implementation(self.name, build, reason, self.reads, self.writes)


KERNELS = (
    Kernel("move", _by_slices, _whole_images, SLICED, SLICED),
    Kernel("move_columns", _side_by_side, _of_few_rows),
    Kernel("move_squares", _by_squares, _of_squares),
    Kernel("move_short_rows", _by_short_rows, _of_short_rows),
    Kernel("move_rows", _by_rows, _of_rows),
    Kernel("move_linear", _linear, lambda *_: None),
    Kernel("move_from_linear", _from_linear, _turned, writes=SLICED),
)


def define_move(
    signature: str,
    moves: Moves,
    infer: Infer | None = None,
    source: int = 0,
    versions: int = 1,
    traits: Traits = NO_TRAITS,
) -> None:
    """Define an operator whose outputs are moves of the operand at position `source`.

    `infer` is needed where moves do not have the outputs' shapes, or are not known as early.
    """

    def shapes(op: Op) -> list[Shape]:
        return [move.shape for move in moves(op)]

    def moved(op: Op) -> list[Moved]:
        pairs = zip(op.results, moves(op), strict=True)
        return [Moved(op, result, op.operand(source), move) for result, move in pairs]

    def reference(op: Op, *arrays: Array) -> Sequence[Array]:
        position = [tensor is op.operand(source) for tensor in op.inputs].index(True)
        return [each.move.apply(arrays[position]).reshape(each.result.shape) for each in moved(op)]

    kernels = tuple(kernel.implementation(moved) for kernel in KERNELS)
    traits = replace(traits, moves=True)
    define(signature, infer or shapes, kernels, reference, ANY, versions=versions, traits=traits)
