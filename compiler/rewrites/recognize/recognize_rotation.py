"""Rotary embeddings spelled out become one operator.

    a = SLICE(x) begin=0   b = SLICE(x) begin=16   r = SUB(MUL(a, cos), MUL(b, sin))
    i = ADD(MUL(b, cos), MUL(a, sin))   y = CONCATENATION(r, i) axis=-1
    becomes   y = tflgpu.rotate(x, cos, sin) depth=32

and likewise y = ADD(MUL(x, cos), MUL(CONCATENATION(NEG(b), a), sin)). Where heads have been brought
before the rows, that is done after the rotation instead: attention then reads heads as parts of the
channels, as a projection computes them.
"""

from dataclasses import dataclass

import numpy as np

from ...ir import Graph, Op, Tensor
from ...ops.attention.rotation import NAME
from ...ops.base.shapes import normalize_axis
from ...ops.base.storage import FLOATS
from ...ops.move.slice import SLICES
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, Attempts, graph_rewrite
from .moved_elements import LARGEST, moved
from .region import used_elsewhere

HEADS_FIRST = (0, 2, 1, 3)  # The axes of rows of heads with the heads brought before the rows.


@dataclass(frozen=True)
class Rotation:
    x: Tensor
    cos: Tensor
    sin: Tensor
    region: tuple[Op, ...]


@graph_rewrite()
def recognize_rotation(graph: Graph, target: Target) -> Attempts:
    """For every sum and concatenation that ends a rotation by computed or constant angles."""
    for op in graph.ops:
        if op not in graph or op.epilogue or op.output.dtype not in FLOATS:
            continue
        found = _of_halves(graph, op) or _of_wholes(graph, op)
        if found is None or found.x.shape != op.output.shape:  # it broadcasts to the tables
            continue
        axis = _row_axis(found)
        if axis is None:
            continue
        if (yield Attempt(found.region, used_elsewhere(graph, found.region, op))):
            here = Decomposition(graph, op, target)
            here.apply(_build(here, found, axis))


@dataclass(frozen=True)
class _Half:
    """A half of the channels of a tensor, and the operators that compute it or something of it."""

    x: Tensor
    number: int
    ops: tuple[Op, ...]
    table: Tensor | None = None  # What it is multiplied by.


def _of_halves(graph: Graph, op: Op) -> Rotation | None:
    """Both halves are computed, then put together."""
    parts = _joined(graph, op)
    if parts is None or [part.name for part in parts] != ["SUB", "ADD"]:
        return None
    terms = [_term(graph, tensor) for part in parts for tensor in part.reads]
    known = [term for term in terms if term is not None]
    if len(known) != 4 or len({term.x for term in known}) > 1:
        return None
    first, second, *crossed = known
    tables = {term.number: term.table for term in crossed}
    halves = (first.number, second.number)
    if halves != (0, 1) or tables != {0: second.table, 1: first.table}:
        return None
    assert first.table is not None and second.table is not None
    inner = dict.fromkeys(each for term in known for each in term.ops)
    return Rotation(first.x, first.table, second.table, (*inner, *parts, op))


def _of_wholes(graph: Graph, op: Op) -> Rotation | None:
    """A tensor is added to itself with its halves exchanged, each times a table."""
    if op.name != "ADD" or len(op.reads) != 2:
        return None
    products = [graph.producer(tensor) for tensor in op.reads]
    if any(each is None or each.name != "MUL" or each.epilogue for each in products):
        return None
    for direct, crossed in (products, reversed(products)):
        assert direct is not None and crossed is not None
        for value, sin in _either(crossed):
            exchanged = _exchanged(graph, graph.producer(value))
            for x, cos in _either(direct):
                if exchanged is not None and exchanged.x is x:
                    return Rotation(x, cos, sin, (*exchanged.ops, direct, crossed, op))
    return None


def _exchanged(graph: Graph, op: Op | None) -> _Half | None:
    """The tensor whose second half, negated, is before its first in what an operator computes."""
    if op is None or op.name != "CONCATENATION" or len(op.reads) != 2 or not _last(op):
        return None
    negated, first = graph.producer(op.operand(0)), _half(graph, op.operand(1))
    if negated is None or first is None or first.number:
        return None
    minus = negated.name == "MUL" and negated.operand(1).number == -1
    if negated.name != "NEG" and not minus:
        return None
    second = _half(graph, negated.operand(0))
    if second is None or second.number != 1 or second.x is not first.x:
        return None
    return _Half(first.x, 0, (*first.ops, *second.ops, negated, op))


def _joined(graph: Graph, op: Op) -> list[Op] | None:
    """What computes the two halves that an operator puts together."""
    if op.name != "CONCATENATION" or len(op.reads) != 2 or not _last(op):
        return None
    parts = [graph.producer(tensor) for tensor in op.reads]
    known = [part for part in parts if part is not None and len(part.reads) == 2]
    return known if len(known) == 2 else None


def _term(graph: Graph, tensor: Tensor) -> _Half | None:
    """A half times a table."""
    op = graph.producer(tensor)
    if op is None or op.name != "MUL" or op.epilogue:
        return None
    for value, table in _either(op):
        half = _half(graph, value)
        if half is not None:
            return _Half(half.x, half.number, (*half.ops, op), table)
    return None


def _half(graph: Graph, tensor: Tensor) -> _Half | None:
    """The tensor of whose last axis a tensor is the first or the second half."""
    op = graph.producer(tensor)
    if op is None or op.name not in SLICES or op.operand(0).elements > LARGEST:
        return None
    x, size = op.operand(0), tensor.shape[-1]
    if tensor.shape != (*x.shape[:-1], size) or x.shape[-1] != 2 * size:
        return None
    whole = np.arange(x.elements)
    places, halves = moved(op, whole), np.split(whole.reshape(x.shape), 2, axis=-1)
    found = [n for n, half in enumerate(halves) if np.array_equal(places, half)]
    return _Half(x, found[0], (op,)) if found else None


def _either(op: Op) -> list[tuple[Tensor, Tensor]]:
    """Both orders of two operands."""
    if len(op.reads) != 2:
        return []
    first, second = op.operand(0), op.operand(1)
    return [(first, second), (second, first)]


def _last(op: Op) -> bool:
    rank = len(op.output.shape)
    return normalize_axis(op, int(op.attrs["axis"]), rank) == rank - 1


def _row_axis(found: Rotation) -> int | None:
    """The axis of rows, from the end, that both tables have; None if they have others."""
    shape, axes = found.x.shape, set[int]()
    for table in (found.cos, found.sin):
        columns = table.shape[-1:]
        if columns not in (shape[-1:], (shape[-1] // 2,)) or columns != found.cos.shape[-1:]:
            return None
        sizes = enumerate(reversed(table.shape[:-1]), start=2)
        axes |= {-axis for axis, size in sizes if size > 1}
    rows = {table.elements for table in (found.cos, found.sin)}
    if len(shape) < 2 or len(axes) > 1 or len(rows) > 1 or not axes <= {-2, -3}:
        return None
    return next(iter(axes), -2)


def _build(here: Decomposition, found: Rotation, axis: int) -> Tensor:
    x, depth = found.x, found.x.shape[-1]
    before, region = here.graph.producer(x), found.region
    turned = axis == -2 and before is not None and _brings_heads(before)
    turned = turned and not here.graph.leaves(x, region)
    if turned and before is not None:
        x = before.operand(0)
    shape = x.shape
    if turned or axis == -3:
        x = here.reshape(x, (*shape[:-2], shape[-2] * depth))
    tables = (here.reshape(each, (-1, each.shape[-1])) for each in (found.cos, found.sin))
    rotated = here.reshape(here.add(NAME, x, *tables, depth=depth), shape)
    return here.transpose(rotated, HEADS_FIRST) if turned else rotated


def _brings_heads(op: Op) -> bool:
    """Whether an operator brings heads before the rows."""
    if op.name != "TRANSPOSE" or op.epilogue or op.operand(1).data is None:
        return False
    return tuple(op.constant(1).tolist()) == HEADS_FIRST
