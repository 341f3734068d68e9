"""Rotations by the same angles of neighbouring channels become one.

    q = SLICE(p) from 0   k = SLICE(p) from 128   a = tflgpu.rotate(q, cos, sin)   b = ... of k
    becomes   r = tflgpu.rotate(SLICE(p), cos, sin)   a = SLICE(r) from 0   b = SLICE(r) from 128

The slices are views, so that queries and keys of a joined projection are turned by one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...ir import Graph, Op, Tensor
from ...ops import RESHAPES
from ...ops.rotation import NAME
from ...target import Target
from ..rewrite import Attempt, graph_rewrite
from ..slices import slice_of


@graph_rewrite()
def join_rotations(graph: Graph, target: Target) -> Iterator[Attempt]:
    for first in graph.ops:
        if first.name != NAME or first not in graph:
            continue
        second = _neighbour(graph, first)
        if second is not None:
            yield Attempt((first, second))
            _join(graph, first, second)


def _neighbour(graph: Graph, first: Op) -> Op | None:
    """The rotation of the channels after those that one turns."""
    source = _slice(graph, first)
    if source is None:
        return None
    begin = source.constant(1)
    end = [*begin[:-1], begin[-1] + first.output.shape[-1]]
    for reader in graph.consumers(source.operand(0)):
        second = graph.only_reader(reader.outputs[0])
        if second is None or second.name != NAME or _slice(graph, second) is not reader:
            continue
        tables = zip(first.reads[1:], second.reads[1:], strict=True)
        alike = second.attrs == first.attrs and all(_alike(graph, *pair) for pair in tables)
        rows = second.output.shape[:-1] == first.output.shape[:-1]
        if alike and rows and np.array_equal(reader.constant(1), end):
            return second
    return None


def _alike(graph: Graph, table: Tensor, other: Tensor) -> bool:
    """Whether two tables are one, constants with the same angles, or reshapes of such."""
    if table is other or table.shape != other.shape:
        return table is other
    if table.data is not None and other.data is not None:
        return np.array_equal(table.data, other.data)
    ops = [graph.producer(each) for each in (table, other)]
    sources = [op.operand(0) for op in ops if op is not None and op.name in RESHAPES]
    return len(sources) == 2 and _alike(graph, *sources)


def _slice(graph: Graph, rotation: Op) -> Op | None:
    """The slice that a rotation alone reads."""
    op = graph.producer(rotation.operand(0))
    if op is None or op.name != "SLICE" or rotation.epilogue or op.input(1) is None:
        return None
    alone = graph.only_reader(op.output) is rotation and op.operand(1).constant
    return op if alone else None


def _join(graph: Graph, first: Op, second: Op) -> None:
    slices = [_slice(graph, each) for each in (first, second)]
    source = slices[0]
    assert source is not None
    rows, begin = first.output.shape[:-1], source.constant(1)
    sizes = [each.output.shape[-1] for each in (first, second)]
    name = first.output.name
    both = Tensor(f"{name}/joined", (*rows, sum(sizes)))
    turned = Tensor(f"{name}/turned", both.shape)
    for op in (first, second, *slices):
        assert op is not None
        graph.remove(op)
    graph.add(slice_of(source.operand(0), begin.tolist(), both, source.index))
    graph.add(Op(NAME, (both, *first.inputs[1:]), (turned,), dict(first.attrs), first.index))
    for op, start in ((first, 0), (second, sizes[0])):
        graph.add(slice_of(turned, (*(0 for _ in rows), start), op.output, op.index))
