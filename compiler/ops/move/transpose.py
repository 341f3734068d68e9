"""TRANSPOSE: a permutation of axes."""

from ...ir import Op
from ..base.traits import Traits, among_operands
from .affine_moves import Axis, Move
from .move import define_move


def permutation(op: Op) -> list[int]:
    """The input axis of each output axis (ModelError if it is not a permutation)."""
    rank = len(op.operand(0).shape)
    order = [axis % max(rank, 1) for axis in op.integers(1)]
    if sorted(order) != list(range(rank)):
        raise op.invalid(f"{order} is not a permutation of {rank} axes")
    return order


def _moves(op: Op) -> list[Move]:
    order = permutation(op)
    shape = op.operand(0).shape
    axes = tuple(Axis(order.index(axis)) for axis in range(len(shape)))
    return [Move(tuple(shape[axis] for axis in order), axes)]


def _keeps_order(op: Op) -> bool:
    return permutation(op) == list(range(len(op.output.shape)))


_TRAITS = Traits(_keeps_order, range=among_operands)

define_move("TRANSPOSE x:T order:integer -> y:T", _moves, versions=9, traits=_TRAITS)
