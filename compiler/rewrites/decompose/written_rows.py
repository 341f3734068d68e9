"""Selections that write rows of one tensor, one after the other, become a concatenation.

    u = SELECT_V2(is row 0, a, t)   v = SELECT_V2(is row 1, b, u)
    becomes   v = CONCATENATION(a, b, t from row 2 on)

PyTorch's converter writes out[:, step] = row so, and each step would copy all rows.
"""

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from ...ir import Graph, Op, Tensor
from .decomposition import Decomposition, decomposes


@decomposes("SELECT_V2")
def written_rows(here: Decomposition) -> Tensor | str:
    """The last selection of a chain, each of which has a constant condition along one axis."""
    op, shape = here.op, here.op.output.shape
    axis = _axis(op)
    if axis is None:
        return "its condition is no constant along a single axis"
    reader = here.graph.only_reader(op.output)
    if reader is not None and _continues(reader, op.output, axis):
        return "the selection that reads it writes rows of the same tensor"
    chain = list(_chain(here.graph, op, axis))
    if len(chain) == 1:
        return "it is the only one that writes rows of its tensor"
    writers = np.full(shape[axis], len(chain))
    for place in range(len(chain) - 1, -1, -1):
        condition = chain[place].operand(0).data
        assert condition is not None
        writers[condition.reshape(-1)] = place
    sources = [*(each.operand(1) for each in chain), chain[-1].operand(2)]
    parts, first = [], 0
    for writer, rows in groupby(writers):
        count = len(list(rows))
        part = _rows(here, sources[writer], axis, first, count)
        if part is None:
            return "what it writes is repeated along other axes"
        parts.append(part)
        first += count
    return here.joined(parts, axis)


def _axis(op: Op) -> int | None:
    """The axis along which the constant condition of a selection varies."""
    condition = op.operand(0)
    if op.name != "SELECT_V2" or condition.data is None or condition.elements == 1:
        return None
    axes = [axis for axis, size in enumerate(condition.shape) if size > 1]
    return axes[0] + len(op.output.shape) - len(condition.shape) if len(axes) == 1 else None


def _continues(op: Op, written: Tensor, axis: int) -> bool:
    """Whether a selection writes rows of a tensor along an axis, and keeps the others."""
    return _axis(op) == axis and op.operand(2) is written and op.operand(1) is not written


def _chain(graph: Graph, op: Op, axis: int) -> Iterator[Op]:
    """The selection and those that wrote rows before, the last one first."""
    yield op
    before = graph.producer(op.operand(2))
    while before is not None and graph.only_reader(before.output) is op and _axis(before) == axis:
        if before.output.shape != op.output.shape:
            return
        yield before
        op, before = before, graph.producer(before.operand(2))


def _rows(here: Decomposition, tensor: Tensor, axis: int, first: int, count: int) -> Tensor | None:
    """Some rows of a tensor broadcast to the output's shape; None if they would be repeated."""
    shape = here.op.output.shape
    begin, size = [0] * len(shape), list(shape)
    begin[axis], size[axis] = first, count
    if tensor.data is not None:
        taken = np.broadcast_to(tensor.data, shape).take(range(first, first + count), axis)
        return here.constant(taken, tensor.dtype)
    if tensor.shape == tuple(size):
        return tensor
    return here.slice(tensor, begin, size) if tensor.shape == shape else None
