"""Operators that only move elements: slices, pads, transposes, splits and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.definition import Implementation, Infer, define
from ..base.launch import Launch
from ..base.storage import ANY, LINEAR, SLICED
from ..base.traits import NO_TRAITS, Traits
from .affine_moves import Move, Moved
from .row_moves import by_elements, by_rows, by_short_rows, by_squares, side_by_side
from .slice_moves import by_slices, into_slices, out_of_slices

# The move that produces each output of an operator from its input.
Moves = Callable[[Op], Sequence[Move]]


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
    Kernel("move", by_slices, SLICED, SLICED),
    Kernel("move_columns", side_by_side),
    Kernel("move_squares", by_squares),
    Kernel("move_short_rows", by_short_rows),
    Kernel("move_rows", by_rows),
    Kernel("move_linear", by_elements),
    Kernel("move_from_linear", into_slices, writes=SLICED),
    Kernel("move_out_of_slices", out_of_slices, reads=SLICED),
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
