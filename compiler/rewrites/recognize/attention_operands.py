"""Where queries, keys and values come from, how their heads lie there, and masks.

A mask is added to the scores of attention, or replaces some of them:

    u = SELECT_V2(hidden, -inf, t)     becomes     u = ADD(t, SELECT_V2(hidden, -inf, 0))

as what is added swallows a finite score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ...ir import Array, Graph, Op, Shape, Tensor
from ...ops.attention.attention import Heads
from ..decompose.decomposition import Decomposition
from .moved_elements import sources


@dataclass(frozen=True)
class Operand:
    """The tensor from which queries, keys or values come, and how its heads lie."""

    tensor: Tensor
    heads: Heads
    factor: float  # What its elements are multiplied by.
    start: int = 0  # The first of its channels.
    turned: bool = False  # Whether its rows are where the kernels expect the channels of a head.


def operand_of(
    graph: Graph,
    tensor: Tensor,
    outer: Shape,
    batch: int,
    heads: int,
    lanes: int,
    *,
    turned: bool = False,
    split: bool = False,
) -> Operand | None:
    """Where an operand of a product comes from, if its heads lie as the kernels read them.

    `outer` are the axes of the product before its matrices, which the operand broadcasts to. Where
    there are more heads than those, several share a matrix; with `split` each has part of its rows,
    and each needs its own.
    """
    shared = batch * heads // prod(outer)
    *_, rows, depth = tensor.shape
    rows, depth = (depth, rows) if turned else (rows // shared if split else rows, depth)
    found = None
    for source, places, factor in sources(graph, tensor):
        matrix = tensor.shape[-2:]
        places = np.broadcast_to(places, (*outer, *matrix)).reshape(-1, *matrix)
        places = places.swapaxes(-1, -2) if turned else places
        places = places if split else places.repeat(shared, axis=0)
        places = places.reshape(batch, heads, rows, depth)
        first = places[0, :, 0, 0]
        count = len(set(first.tolist()))
        if heads % count or (split and count < heads) or source.elements % (batch * rows):
            continue
        whole = depth % lanes == 0 or count == 1
        channels, start = source.elements // (batch * rows), int(first[0])
        inner = (rows * channels, depth, channels, 1)
        if whole and _lies(places, count, start, *inner) and start + count * depth <= channels:
            found = Operand(source, Heads(count, rows, depth, False), factor, start)
        if source.elements != batch * count * rows * depth or (found and not found.heads.outer):
            continue
        heads_at = (count * rows * depth, rows * depth)
        if _lies(places, count, 0, *heads_at, depth, 1):
            found = Operand(source, Heads(count, rows, depth, True), factor)
        elif _lies(places, count, 0, *heads_at, 1, rows) and (found is None or found.turned):
            found = Operand(source, Heads(count, rows, depth, True), factor, turned=True)
    return found


def _lies(
    places: Array, count: int, start: int, batch: int, head: int, row: int, channel: int
) -> bool:
    """Whether elements lie at these strides of batches, heads, rows and channels of heads."""
    indices = np.ogrid[tuple(map(slice, places.shape))]
    shared = indices[1] // (places.shape[1] // count)
    strides = (batch, head, row, channel)
    axes = (indices[0], shared, indices[2], indices[3])
    expected = start + sum(axis * stride for axis, stride in zip(axes, strides, strict=True))
    return bool(np.array_equal(expected, places))


def part_of(here: Decomposition, operand: Operand, batch: int) -> Tensor:
    """The operand with its heads as the kernel expects them."""
    heads, source = operand.heads, operand.tensor
    if heads.outer and not operand.turned:
        return here.reshape(source, (batch, heads.count, heads.rows, heads.depth))
    if heads.outer:
        columns = here.reshape(source, (batch, heads.count, heads.depth, heads.rows))
        return here.transpose(columns, (0, 1, 3, 2))
    channels = source.elements // (batch * heads.rows)
    rows = here.reshape(source, (batch, heads.rows, channels))
    return here.slice(rows, (0, 0, operand.start), (batch, heads.rows, heads.count * heads.depth))


def without_ones(shape: Shape) -> Shape:
    """The shape with four axes if those in front of them are of size 1."""
    return shape[-4:] if prod(shape[:-4]) == 1 else shape


def four_axes(shape: Shape) -> Shape:
    """The shape of a tensor of scores, or of what is combined with them, with all four axes."""
    return (*(1,) * (4 - len(shape)), *without_ones(shape))


# The largest number that hides a score it is added to: the next ones in float32 are 64 apart.
SWALLOWS = -1e9


@dataclass(frozen=True)
class Mask:
    """What is added to scores."""

    tensor: Tensor
    # If the tensor is a condition: what is added where it holds, and elsewhere.
    choices: tuple[float, float] | None = None


def hiding(op: Op, fill: Tensor, *, kept: bool) -> Mask | None:
    """The mask that hides the scores that a SELECT replaces; None if adding does not hide them.

    Scores are `kept` where its condition holds, or else where it fails.
    """
    condition = op.operand(0)
    by_rows = op.name == "SELECT" and len(condition.shape) < len(op.output.shape)
    low = fill.number or 0.0
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
