"""The kernels that move elements of feature maps in slices: each function gives the launch that
moves a result, or says why there is none."""

from dataclasses import replace
from math import prod

from ...target import Target
from ..base.launch import Launch, linear_grid, sliced_grid
from ..base.row_slices import no_row_slices
from ..base.storage import bhwc, slice_count
from ..base.view import sliced_view
from .affine_moves import Axis, Move, Moved, Source


def _of_images(moved: Moved, target: Target) -> Launch | str:
    rank = max(len(moved.source.shape), len(moved.result.shape))
    if rank > 4:
        return f"rank {rank} is above 4"
    if moved.move.shape != moved.result.shape:
        return "it adds or drops axes"
    return Launch(
        "move/move_from_linear.jinja",
        sliced_grid(moved.result.shape, target),
        {"x": moved.source},
        {"y": moved.result},
        variables={"source": moved.images()},
    )


def into_slices(moved: Moved, target: Target) -> Launch | str:
    if all(axis.of == place for place, axis in enumerate(moved.move.axes)):
        return "it keeps the order of the axes"
    return _of_images(moved, target)


def by_slices(moved: Moved, target: Target) -> Launch | str:
    """Whole slices at once, if it keeps them."""
    if moved.move.fill is not None and _pads_lanes(moved, target.lanes):
        return "it pads single channels"
    launch = _of_images(moved, target)
    if isinstance(launch, str):
        return launch
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


def out_of_slices(moved: Moved, target: Target) -> Launch | str:
    """Squares of as many pixels of a sliced input as a slice has lanes, which are turned: the
    result has neighbouring pixels, or those of a column, in its rows.

    Rows and columns of the input are one axis if they follow one another in the result, too.
    """
    if max(len(moved.source.shape), len(moved.result.shape)) > 4 or not moved.move.permutes:
        return "it does not only turn the axes of images"
    op, source = moved.op, moved.images()
    move, shape = source.move, source.shape
    across, last = move.axes[3].of, len(move.shape) - 1
    if across == last:
        return "channels stay channels"
    flat = move.axes[2] == Axis(last) and move.axes[1] == Axis(last - 1) and not op.epilogue_inputs
    if flat:
        pixels = move.shape[-2] * move.shape[-1]
        move = replace(move, shape=(*move.shape[:-2], 1, pixels))
        shape = (shape[0], 1, pixels, shape[3])
    if move.shape[-1] < target.lanes:
        return f"rows of {move.shape[-1]} elements do not fill a slice"
    if reason := no_row_slices(op, target, op.epilogue_inputs, moved.source):
        return reason
    order = [*(axis for axis in range(last) if axis != across), across, last]
    turned, source = (across, last), Source(move, shape)
    squares = [slice_count(move.shape[n], target) if n in turned else move.shape[n] for n in order]
    return Launch(
        "move/move_out_of_slices.jinja",
        linear_grid(prod(squares)),
        {"x": moved.source},
        {"y": moved.result},
        variables={"source": source, "order": order, "squares": squares, "across": across},
        flatten=flat,
    )
