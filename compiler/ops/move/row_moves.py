"""The kernels that move elements of row-major tensors: each function gives the launch that moves a
result, or says why there is none."""

from math import prod

from ...target import Target
from ..base.launch import Launch, linear_grid
from ..base.parts import largest_divisor
from ..base.row_slices import no_row_slices
from ..base.storage import slice_count
from .affine_moves import Move, Moved, Source, strides

SHORTEST_ROW = 2  # How many elements of a row are worth a work-item of their own, at least.

# How many slices of one of many rows a work-item moves, at most: finding out where they come from
# takes as long as moving one.
SLICES_AT_ONCE = 8

# How many rows that are less than a slice a work-item moves, at most: a processor follows few
# places that it reads or writes one after the other.
MOST_SHORT_ROWS = 32

PAGE = 1024  # Elements of a page of memory: 4 KB.

# How many rows a kernel brings side by side, at most: it stores every element by itself.
FEW_ROWS = 4


def by_elements(moved: Moved, target: Target) -> Launch | str:
    grid = linear_grid(prod(moved.result.shape))
    return moved.in_rows("move/move_linear.jinja", grid, source=moved.rows())


def by_rows(moved: Moved, target: Target) -> Launch | str:
    """A slice of a row by a work-item, or several if they are in one piece.

    Slices of rows whose elements are apart in the input come in the order in which their first
    elements are neighbours there, since each takes a line of the processor's cache for every lane.
    """
    op, source = moved.op, moved.rows(target.lanes)
    *outer, columns = source.move.shape or (1,)
    if columns < (target.lanes if op.epilogue else SHORTEST_ROW):
        return f"rows of {columns} elements are too short"
    if sum(axis.of == len(outer) and axis.step != 0 for axis in source.move.axes) > 1:
        return "the elements of a row are not at equal distances"
    if reason := no_row_slices(op, target, op.epilogue_inputs, moved.source):
        return reason
    *along, apart = strides(source.move, source.shape)
    order = list(range(len(outer)))
    rows, parts, at_once = prod(outer), slice_count(columns, target), 1
    if apart not in (0, 1):
        order.sort(key=lambda axis: -abs(along[axis]))
    elif rows > 1 and source.whole_slices(target.lanes):
        busy = target.device.work_items * target.device.light_group
        most = min(max(rows * parts // busy, 1), SLICES_AT_ONCE)
        at_once = largest_divisor(parts, most)
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


def _short_rows(source: Source, lanes: int) -> int | str:
    """The axis along which few short rows neighbour each other, in the input or in the result;
    otherwise what is in the way."""
    *outer, columns = source.move.shape or (1,)
    if more := _turns_more(source.move):
        return more
    *apart, within = strides(source.move, source.shape) or (1,)
    if not SHORTEST_ROW <= columns < lanes or within != 1:
        return f"rows of {columns} elements are not short pieces of the input"
    several = [axis for axis, size in enumerate(outer) if size > 1]
    innermost = sorted(several, key=lambda axis: abs(apart[axis]))[:1] + several[-1:]
    for axis in innermost:
        if outer[axis] <= MOST_SHORT_ROWS:
            return axis
    return f"more than {MOST_SHORT_ROWS} rows neighbour each other"


def by_short_rows(moved: Moved, target: Target) -> Launch | str:
    """All rows along an axis by a work-item, in the order of the side where these are nearer to
    each other."""
    source = moved.rows(target.lanes)
    along, shape = _short_rows(source, target.lanes), source.move.shape
    if isinstance(along, str):
        return along
    if reason := _in_order(moved, target):
        return reason
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
        # Rows lie along the input's innermost axis of more than one element.
        source_columns=next(size for size in reversed(source.shape) if size > 1),
        apart=apart[along],
        pitch=pitch,
    )


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


def by_squares(moved: Moved, target: Target) -> Launch | str:
    """Squares of as many rows as a slice has lanes, which are turned.

    Those of the same rows follow one another: of the input, or of the result if its rows are so
    long that each is on another page.
    """
    source, op = moved.rows(target.lanes), moved.op
    shape, across = source.move.shape, _across(source, target.lanes)
    if isinstance(across, str):
        return across
    if reason := no_row_slices(op, target, op.epilogue_inputs, moved.source):
        return reason
    last = len(shape) - 1
    turned = (across, last) if shape[last] > PAGE else (last, across)
    order = [*(axis for axis in range(last) if axis != across), *turned]
    squares = [slice_count(shape[n], target) if n in turned else shape[n] for n in order]
    template, grid = "move/move_squares.jinja", linear_grid(prod(squares))
    return moved.in_rows(template, grid, source=source, order=order, squares=squares, across=across)


def side_by_side(moved: Moved, target: Target) -> Launch | str:
    """The last axis of the result must be short, and the one before it a row of the input."""
    move, last = moved.move, len(moved.move.shape) - 1
    turns = last > 0 and move.permutes and move.axes[-1].of == last - 1
    whole = turns and moved.source.shape[-1] % target.lanes == 0
    if not whole or not 1 < move.shape[-1] <= FEW_ROWS:
        return f"it does not bring whole slices of up to {FEW_ROWS} rows side by side"
    if reason := _in_order(moved, target):
        return reason
    apart = strides(move, moved.source.shape)[-1]
    grid, elements = linear_grid(prod(move.shape[:-1]) // target.lanes), prod(move.shape)
    template, source = "move/move_columns.jinja", moved.rows()
    return moved.in_rows(template, grid, source=source, apart=apart, elements=elements)
