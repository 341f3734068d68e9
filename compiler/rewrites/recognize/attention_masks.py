"""Masks of attention: what is added to its scores, or replaces some of them.

    u = SELECT_V2(hidden, -inf, t)     becomes     u = ADD(t, SELECT_V2(hidden, -inf, 0))

as what is added swallows the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import Graph, Op, Tensor, constant
from ...ops.elementwise import is_literal
from .attention_operands import four_axes, reshaped, turned

SWALLOWS = -1e9
"""The largest number that hides a score it is added to: the next ones in float32 are 64 apart."""


@dataclass(frozen=True)
class Mask:
    """What is added to scores."""

    tensor: Tensor
    choices: tuple[float, float] | None = None
    """If the tensor is a condition: what is added where it holds, and elsewhere."""


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


def sum_of_masks(graph: Graph, masks: Sequence[Mask], name: str, index: int) -> Tensor:
    """What masks add, with queries in the last axis."""
    total: Tensor | None = None
    for place, mask in enumerate(masks):
        added = _added(graph, mask, f"{name}/mask{place}/added", index)
        own = reshaped(graph, added, four_axes(added.shape), f"{name}/mask{place}", index)
        if total is not None:
            both = Tensor(f"{name}/masks{place}", np.broadcast_shapes(total.shape, own.shape))
            graph.add(Op("ADD", (total, own), (both,), {}, index))
            own = both
        total = own
    assert total is not None
    *outer, queries, keys = total.shape
    if 1 in (queries, keys):
        return reshaped(graph, total, (*outer, keys, queries), f"{name}/mask", index)
    return turned(graph, total, f"{name}/mask", index)


def _added(graph: Graph, mask: Mask, name: str, index: int) -> Tensor:
    condition = mask.tensor
    if mask.choices is None:
        return condition
    choices = [np.array(each, np.float32) for each in mask.choices]
    if condition.data is not None:
        return constant(name, np.where(condition.data, *choices))
    added = Tensor(name, condition.shape)
    operands = (constant(f"{name}/{place}", each) for place, each in enumerate(choices))
    graph.add(Op("SELECT_V2", (condition, *operands), (added,), {}, index))
    return added
