"""Masks of attention: what is added to its scores, or replaces some of them.

    u = SELECT_V2(hidden, -inf, t)     becomes     u = ADD(t, SELECT_V2(hidden, -inf, 0))

as what is added swallows a finite score.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import Op, Tensor
from ...ops.elementwise import is_literal
from ..decompose.decomposition import Decomposition
from .attention_operands import four_axes

# The largest number that hides a score it is added to: the next ones in float32 are 64 apart.
SWALLOWS = -1e9


@dataclass(frozen=True)
class Mask:
    """What is added to scores."""

    tensor: Tensor
    # If the tensor is a condition: what is added where it holds, and elsewhere.
    choices: tuple[float, float] | None = None


def number(tensor: Tensor) -> float:
    """The constant that a tensor of one element is."""
    assert tensor.data is not None
    return float(tensor.data.reshape(()))


def hiding(op: Op, fill: Tensor, *, kept: bool) -> Mask | None:
    """The mask that hides the scores that a SELECT replaces; None if adding does not hide them.

    Scores are `kept` where its condition holds, or else where it fails.
    """
    condition = op.operand(0)
    by_rows = op.name == "SELECT" and len(condition.shape) < len(op.output.shape)
    low = number(fill) if is_literal(fill) else 0.0
    if by_rows or not low <= SWALLOWS:
        return None
    return Mask(condition, (0.0, low) if kept else (low, 0.0))


def sum_of_masks(here: Decomposition, masks: Sequence[Mask]) -> Tensor:
    """What masks add, with queries in the last axis."""
    added = [_added(here, mask) for mask in masks]
    total, *others = (here.reshape(each, four_axes(each.shape)) for each in added)
    for other in others:
        total = here.add("ADD", total, other)
    *outer, queries, keys = total.shape
    if 1 in (queries, keys):
        return here.reshape(total, (*outer, keys, queries))
    return here.transpose(total, (0, 1, 3, 2))


def _added(here: Decomposition, mask: Mask) -> Tensor:
    if mask.choices is None:
        return mask.tensor
    choices = map(here.constant, mask.choices)
    return here.add("SELECT_V2", mask.tensor, *choices, dtype="float32")
