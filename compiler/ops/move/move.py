"""Operators that only move elements: slices, pads, transposes, splits and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Implementation, Infer, define
from ..base.launch import Launch, sliced_grid
from ..base.storage import ANY, LINEAR, SLICED, bhwc, slice_count
from ..base.traits import NO_TRAITS, Traits
from ..base.view import sliced_view
from .affine_moves import Axis, Move, Moved, Source
from .row_moves import by_elements, by_rows, by_short_rows, by_squares, side_by_side

# The move that produces each output of an operator from its input.
Moves = Callable[[Op], Sequence[Move]]


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


def _from_linear(moved: Moved, target: Target) -> Launch | str:
    if all(axis.of == place for place, axis in enumerate(moved.move.axes)):
        return "it keeps the order of the axes"
    return _of_images(moved, target)


def _by_slices(moved: Moved, target: Target) -> Launch | str:
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


def _made(launch: Launch | str) -> Launch:
    assert isinstance(launch, Launch), f"chosen although {launch}"
    return launch


@dataclass(frozen=True)
class Kernel:
    """How each result of an operator is moved."""

    name: str
    # The launch that moves a result, or why there is none.
    launch: Callable[[Moved, Target], Launch | str]
    reads: str = LINEAR
    writes: str = LINEAR

    def implementation(self, moved: Callable[[Op], Sequence[Moved]]) -> Implementation:
        """That of an operator whose results are moved so."""

        def launches(op: Op, target: Target) -> Iterator[Launch | str]:
            return (self.launch(each, target) for each in moved(op))

        def build(op: Op, target: Target) -> Sequence[Launch]:
            return [_made(each) for each in launches(op, target)]

        def reason(op: Op, target: Target) -> str | None:
            return next((each for each in launches(op, target) if isinstance(each, str)), None)

        return Implementation(self.name, build, reason, self.reads, self.writes)


KERNELS = (
    Kernel("move", _by_slices, SLICED, SLICED),
    Kernel("move_columns", side_by_side),
    Kernel("move_squares", by_squares),
    Kernel("move_short_rows", by_short_rows),
    Kernel("move_rows", by_rows),
    Kernel("move_linear", by_elements),
    Kernel("move_from_linear", _from_linear, writes=SLICED),
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
