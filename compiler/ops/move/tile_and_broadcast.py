"""TILE, BROADCAST_TO, REVERSE_V2 and tflgpu.roll: a tensor repeated, reversed or rolled."""

from ...ir import Op
from ..base.shapes import broadcast, normalize_axis
from ..base.traits import Permutable, Traits, always, among_operands
from .affine_moves import Axis, Move
from .move import define_move

ROLL = "tflgpu.roll"  # Begins at `starts`, and goes on with what lies before.


def _tile(op: Op) -> list[Move]:
    shape = op.operand(0).shape
    times = op.integers(1)
    if len(times) != len(shape) or min(times, default=0) < 0:
        raise op.invalid(
            f"multiples {times} must have a non-negative entry for each axis of {list(shape)}"
        )
    axes = [Axis(i, fold="wrap" if count > 1 else "") for i, count in enumerate(times)]
    return [Move(tuple(size * n for size, n in zip(shape, times, strict=True)), tuple(axes))]


def _broadcast(op: Op) -> list[Move]:
    shape = op.operand(0).shape
    wanted = tuple(op.integers(1))
    if broadcast(op, shape, wanted) != wanted:
        raise op.invalid(f"{list(shape)} does not broadcast to {list(wanted)}")
    added = len(wanted) - len(shape)
    axes = [Axis(i + added, 0, 0 if size == 1 else 1) for i, size in enumerate(shape)]
    return [Move(wanted, tuple(axes))]


def _reverse(op: Op) -> list[Move]:
    shape = op.operand(0).shape
    flipped = {normalize_axis(op, axis, len(shape)) for axis in op.integers(1)}
    axes = [Axis(i, size - 1, -1) if i in flipped else Axis(i) for i, size in enumerate(shape)]
    return [Move(shape, tuple(axes))]


def _roll(op: Op) -> list[Move]:
    starts = op.attrs["starts"]
    axes = [Axis(i, start, fold="wrap" if start else "") for i, start in enumerate(starts)]
    return [Move(op.operand(0).shape, tuple(axes))]


define_move(
    "BROADCAST_TO x:T sizes:integer -> y:T",
    _broadcast,
    versions=4,
    traits=Traits(always, range=among_operands),
)
define_move(
    "REVERSE_V2 x:T axes:integer -> y:T", _reverse, versions=4, traits=Traits(range=among_operands)
)
define_move(ROLL, _roll, traits=Traits(range=among_operands))
define_move(
    "TILE x:T sizes:integer -> y:T",
    _tile,
    versions=3,
    traits=Traits(always, permutable=Permutable(per_axis=(1,), unit=(1,)), range=among_operands),
)
