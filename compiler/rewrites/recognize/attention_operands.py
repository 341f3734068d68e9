"""Where queries, keys and values come from, and how their heads lie there."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ...ir import Array, Graph, Op, Shape, Tensor, constant
from ...ops.attention import Heads
from ..slices import slice_of
from .moved_elements import sources


@dataclass(frozen=True)
class Operand:
    """The tensor from which queries, keys or values come, and how its heads lie."""

    tensor: Tensor
    heads: Heads
    factor: float
    """What its elements are multiplied by."""
    start: int = 0
    """The first of its channels."""
    turned: bool = False
    """Whether its rows are where the kernels expect the channels of a head."""


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
    indices = np.indices(places.shape)
    shared = indices[1] // (places.shape[1] // count)
    strides = (batch, head, row, channel)
    axes = (indices[0], shared, indices[2], indices[3])
    expected = start + sum(axis * stride for axis, stride in zip(axes, strides, strict=True))
    return bool(np.array_equal(expected, places))


def part_of(graph: Graph, operand: Operand, batch: int, name: str, index: int) -> Tensor:
    """The operand with its heads as the kernel expects them."""
    heads, source = operand.heads, operand.tensor
    if heads.outer:
        shape: Shape = (batch, heads.count, heads.rows, heads.depth)
        if not operand.turned:
            return reshaped(graph, source, shape, name, index)
        columns = reshaped(graph, source, (*shape[:2], shape[3], shape[2]), name, index)
        return turned(graph, columns, f"{name}/rows", index)
    channels = source.elements // (batch * heads.rows)
    rows = reshaped(graph, source, (batch, heads.rows, channels), name, index)
    size = heads.count * heads.depth
    if size == channels:
        return rows
    part = Tensor(f"{name}/part", (batch, heads.rows, size))
    graph.add(slice_of(rows, (0, 0, operand.start), part, index))
    return part


def reshaped(graph: Graph, tensor: Tensor, shape: Shape, name: str, index: int) -> Tensor:
    """A tensor in another shape, for which a RESHAPE is added unless it is a constant."""
    if tensor.shape == shape:
        return tensor
    if tensor.data is not None:
        return constant(name, tensor.data.reshape(shape))
    result = Tensor(name, shape)
    graph.add(Op("RESHAPE", (tensor,), (result,), {"new_shape": shape}, index))
    return result


def turned(graph: Graph, tensor: Tensor, name: str, index: int) -> Tensor:
    """A tensor of four axes with the last two exchanged, by a TRANSPOSE unless it is a constant."""
    if tensor.data is not None:
        return constant(name, tensor.data.swapaxes(-1, -2).copy())
    *outer, rows, columns = tensor.shape
    result = Tensor(name, (*outer, columns, rows))
    order = constant(f"{name}/order", np.array((0, 1, 3, 2), np.int32))
    graph.add(Op("TRANSPOSE", (tensor, order), (result,), {}, index))
    return result


def without_ones(shape: Shape) -> Shape:
    """The shape with four axes if those in front of them are of size 1."""
    return shape[-4:] if prod(shape[:-4]) == 1 else shape


def four_axes(shape: Shape) -> Shape:
    """The shape of a tensor of scores, or of what is combined with them, with all four axes."""
    return (*(1,) * (4 - len(shape)), *without_ones(shape))
