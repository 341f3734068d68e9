"""Operators that only move elements: slices, pads, transposes, splits and repetitions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from ..ir import Array, Op, Shape, Tensor
from ..target import Target
from .affine_moves import Axis, Move, Source, strides
from .base import (
    ANY,
    LINEAR,
    NO_TRAITS,
    Build,
    Implementation,
    Infer,
    Launch,
    Traits,
    View,
    bhwc,
    define,
    linear_grid,
    row_major,
    row_major_view,
    slice_count,
    sliced_grid,
    sliced_view,
)
from .row_slices import no_row_slices

Moves = Callable[[Op], Sequence[Move]]
"""The move that produces each output of an operator from its input."""


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
            replace(
                launch,
                template="move/move.jinja",
                variables=_by_slices(move.of_images(), bhwc(source(op).shape), target),
                view=_sliced_view(tensor, source(op), move.of_images(), target),
            )
            for launch, move, tensor in zip(
                from_linear(op, target), moves(op), op.results, strict=True
            )
        ]

    def from_linear(op: Op, target: Target) -> Sequence[Launch]:
        return [
            Launch(
                "move/move_from_linear.jinja",
                sliced_grid(tensor.shape, target),
                {"x": source(op)},
                {"y": tensor},
                variables={"source": Source(move.of_images(), bhwc(source(op).shape))},
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
                variables={"source": Source(*move.merged(source(op).shape))},
                view=_row_major_view(tensor, source(op), move),
            )
            for move, tensor in zip(moves(op), op.results, strict=True)
        ]

    def merged(op: Op, target: Target) -> list[Source]:
        """Where rows come from, with as few axes as slices of them allow."""
        return [Source(*move.merged(source(op).shape, target.lanes)) for move in moves(op)]

    def in_slices(build: Callable[[Launch, Source, Target], Launch]) -> Build:
        def launches(op: Op, target: Target) -> Sequence[Launch]:
            pairs = zip(linear(op, target), merged(op, target), strict=True)
            return [build(launch, each, target) for launch, each in pairs]

        return launches

    def in_rows(op: Op, target: Target) -> str | None:
        for move in (each.move for each in merged(op, target)):
            columns = move.shape[-1] if move.shape else 1
            if columns < (target.lanes if op.epilogue else SHORTEST_ROW):
                return f"rows of {columns} elements are too short"
            if sum(axis.of == len(move.shape) - 1 and axis.step != 0 for axis in move.axes) > 1:
                return "the elements of a row are not at equal distances"
        return no_row_slices(op, target, op.epilogue_inputs, source(op))

    def in_short_rows(op: Op, target: Target) -> str | None:
        for each in merged(op, target):
            if isinstance(along := _short_rows(each, target.lanes), str):
                return along
        if op.epilogue:
            return "its epilogue is computed in the order of the result"
        return no_row_slices(op, target, (), source(op))

    def in_squares(op: Op, target: Target) -> str | None:
        for each in merged(op, target):
            if isinstance(across := _across(each, target.lanes), str):
                return across
        return no_row_slices(op, target, op.epilogue_inputs, source(op))

    def few_rows(op: Op, target: Target) -> str | None:
        if any(not _turns_few_rows(move, source(op).shape, target.lanes) for move in moves(op)):
            return f"it does not bring whole slices of up to {FEW_ROWS} rows side by side"
        if op.epilogue:
            return "its epilogue is computed in the order of the result"
        return no_row_slices(op, target, (), source(op))

    def side_by_side(op: Op, target: Target) -> Launch:
        (launch,), (move,) = linear(op, target), moves(op)
        apart = strides(move, source(op).shape)[-1]
        grid = linear_grid(prod(move.shape[:-1]) // target.lanes)
        elements = prod(move.shape)
        variables = {**launch.variables, "apart": apart, "elements": elements}
        return replace(launch, template="move/move_columns.jinja", grid=grid, variables=variables)

    return (
        Implementation("move", sliced, whole_images),
        row_major("move_columns", side_by_side, few_rows),
        row_major("move_squares", in_slices(_by_squares), in_squares),
        row_major("move_short_rows", in_slices(_by_short_rows), in_short_rows),
        row_major("move_rows", in_slices(_by_rows), in_rows),
        row_major("move_linear", linear),
        Implementation("move_from_linear", from_linear, turned, reads=LINEAR),
    )


def _by_slices(move: Move, shape: Shape, target: Target) -> dict[str, object]:
    """What the template takes for a move of images, of whole slices if it keeps them."""
    whole = _keeps_slices(move, target.lanes)
    if whole:
        slices = Axis(3, move.axes[3].start // target.lanes)
        count = slice_count(move.shape[3], target)
        move = Move((*move.shape[:3], count), (*move.axes[:3], slices), move.fill)
        shape = (*shape[:3], slice_count(shape[3], target))
    return {"source": Source(move, shape), "whole": whole}


def _by_rows(launch: Launch, source: Source, target: Target) -> Launch:
    """The launch that moves rows, a slice a work-item, or several if they are in one piece.

    Slices of rows whose elements are apart in the input come in the order in which their first
    elements are neighbours there, since each takes a line of the processor's cache for every lane.
    """
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
    variables = {
        "source": source,
        "order": order,
        "rows": rows,
        "parts": parts,
        "at_once": at_once,
        "columns": columns,
        "apart": apart,
    }
    grid = linear_grid(rows * parts // at_once)
    return replace(launch, template="move/move_rows.jinja", grid=grid, variables=variables)


def _turns_more(move: Move) -> str | None:
    """Why a move does more than bring elements of blocks into another order; None if not."""
    if move.fill is not None or any(axis.fold for axis in move.axes):
        return "it does not only turn elements"
    if len({axis.of for axis in move.axes if axis.step}) < len(move.axes):
        return "it takes elements along a diagonal"
    return None


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


def _by_short_rows(launch: Launch, source: Source, target: Target) -> Launch:
    """The launch that moves all rows along an axis in one work-item, in the order of the side where
    these are nearer to each other."""
    along, shape = _short_rows(source, target.lanes), source.move.shape
    assert isinstance(along, int)
    apart, pitch = strides(source.move, source.shape), prod(shape[along + 1 :])
    order = [axis for axis in range(len(shape) - 1) if axis != along]
    if abs(apart[along]) < pitch:
        order.sort(key=lambda axis: -abs(apart[axis]))
    items = prod(shape[:-1]) // shape[along]
    variables = {
        "source": source,
        "order": order,
        "along": along,
        "items": items,
        "columns": shape[-1],
        "apart": apart[along],
        "pitch": pitch,
    }
    template = "move/move_short_rows.jinja"
    return replace(launch, template=template, grid=linear_grid(items), variables=variables)


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


def _by_squares(launch: Launch, source: Source, target: Target) -> Launch:
    """The launch that turns squares of as many rows as a slice has lanes.

    Those of the same rows follow one another: of the input, or of the result if its rows are so
    long that each is on another page.
    """
    shape, lanes = source.move.shape, target.lanes
    across, last = _across(source, lanes), len(shape) - 1
    turned = (across, last) if shape[last] > PAGE else (last, across)
    order = [*(axis for axis in range(last) if axis != across), *turned]
    squares = [slice_count(shape[n], target) if n in turned else shape[n] for n in order]
    variables = {
        "source": source,
        "order": order,
        "squares": squares,
        "across": across,
    }
    grid = linear_grid(prod(squares))
    return replace(launch, template="move/move_squares.jinja", grid=grid, variables=variables)


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

    def reference(op: Op, *arrays: Array) -> Sequence[Array]:
        position = [tensor is op.operand(source) for tensor in op.inputs].index(True)
        results = zip(moves(op), op.results, strict=True)
        return [move.apply(arrays[position]).reshape(out.shape) for move, out in results]

    rows = implementations(lambda op: op.operand(source), moves)
    traits = replace(traits, moves=True)
    define(signature, infer or shapes, rows, reference, ANY, versions=versions, traits=traits)
