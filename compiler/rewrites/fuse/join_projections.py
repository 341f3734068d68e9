"""Projections of the same rows to queries, keys and values become one layer.

    q = FULLY_CONNECTED(x, wq, bq)   k = FULLY_CONNECTED(x, wk, bk)   y = tflgpu.attention(q, k, v)
    becomes   p = FULLY_CONNECTED(x, [wq; wk], [bq; bk])   q = SLICE(p)   k = SLICE(p)   y = ...

The slices of channels are views, and the rows are read once. Reshapes, a rotation and an update of
a cache may stand before the attention. What scales the sums of quantized weights is joined as well:
elementwise operators that read a number for each row, which is the same, or for each channel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ...ir import Graph, Op, Tensor, constant
from ...ops import RESHAPES
from ...ops.attention import NAME
from ...ops.base import bhwc
from ...ops.elementwise import ELEMENTWISE
from ...ops.fully_connected import OF_BLOCKS
from ...ops.rotation import NAME as ROTATION
from ...target import Target
from ..joined_layers import joined_tables
from ..rewrite import Attempt, graph_rewrite
from ..slices import slice_of
from .update_in_place import UPDATE

PASSED = RESHAPES | {ROTATION}
"""What may stand between a layer and the attention, its first operand coming from the layer."""

LAYERS = ("FULLY_CONNECTED", OF_BLOCKS)


@dataclass(frozen=True)
class Projection:
    """A layer, and the elementwise operators that alone read its result, in order."""

    layer: Op
    scaling: tuple[Op, ...]

    @property
    def ops(self) -> tuple[Op, ...]:
        return (self.layer, *self.scaling)

    @property
    def output(self) -> Tensor:
        return self.ops[-1].output


@graph_rewrite()
def join_projections(graph: Graph, target: Target) -> Iterator[Attempt]:
    for op in graph.ops:
        if op.name != NAME:
            continue
        found = [_projection(graph, op, tensor, target) for tensor in op.reads[:3]]
        each = [one for one in found if one is not None]
        alike = [one for one in each if _alike(one, each[0])]
        if len(alike) > 1:
            yield Attempt(tuple(one.layer for one in alike))
            _join(graph, alike)


def _projection(graph: Graph, attention: Op, tensor: Tensor, target: Target) -> Projection | None:
    """The projection that computes an operand alone, what may stand between aside, if parts of it
    can be views."""
    op, reader = graph.producer(tensor), attention
    while op is not None and op.name in (*PASSED, UPDATE):
        # The cache that an update leaves may be read by others, too.
        if op.name != UPDATE and graph.only_reader(op.output) is not reader:
            return None
        reader = op
        op = graph.producer(op.operand(1 if op.name == UPDATE else 0))
    scaling: list[Op] = []
    while op is not None and op.name in ELEMENTWISE and graph.only_reader(op.output) is reader:
        if not _scales(op):
            return None
        scaling.insert(0, op)
        reader, op = op, graph.producer(op.operand(0))
    if op is None or op.name not in LAYERS or graph.only_reader(op.output) is not reader:
        return None
    if any(each is not None and each.data is None for each in op.inputs[1:]):
        return None
    shape = op.output.shape
    views = len(shape) <= 4 and bhwc(shape)[0] == 1 and shape[-1] % target.lanes == 0
    floats = all(each.dtype == "float32" for each in (*op.reads, op.output))
    plain = not op.epilogue and not any(step.epilogue for step in scaling)
    return Projection(op, tuple(scaling)) if views and floats and plain else None


def _scales(op: Op) -> bool:
    """Whether an elementwise operator reads a number for each row or for each channel besides."""
    value = op.operand(0)
    others = op.inputs[1:]
    return value.shape == op.output.shape and all(
        other is not None
        and other is not value
        and (
            other.shape[-1:] == (1,)
            or (other.constant and other.elements in (1, *value.shape[-1:]))
        )
        for other in others
    )


def _alike(one: Projection, other: Projection) -> bool:
    """Whether two projections of the same rows differ in nothing but tables by channel."""
    if one.layer.operand(0) is not other.layer.operand(0) or len(one.ops) != len(other.ops):
        return False
    kinds = [(op.name, op.attrs, op.input(3) is None) for op in one.ops]
    if kinds != [(op.name, op.attrs, op.input(3) is None) for op in other.ops]:
        return False
    steps = zip(one.scaling, other.scaling, strict=True)
    pairs = (zip(op.reads[1:], step.reads[1:], strict=True) for op, step in steps)
    return all(_same(*pair) for each in pairs for pair in each)


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two operands are one, or tables by channel, which may differ."""
    if one is other:
        return True
    if one.data is None or other.data is None:
        return False
    by_channel = one.elements > 1 and other.elements > 1
    return by_channel or bool(np.array_equal(one.data, other.data))


def _join(graph: Graph, projections: Sequence[Projection]) -> None:
    layers = [one.layer for one in projections]
    first = layers[0]
    name, index, rows = first.output.name, first.index, first.output.shape[:-1]
    sizes = [layer.output.shape[-1] for layer in layers]
    value = Tensor(f"{name}/joined", (*rows, sum(sizes)))
    inputs = (first.operand(0), *joined_tables(layers, name))
    outputs = [one.output for one in projections]
    scaling = list(zip(*(one.scaling for one in projections), strict=True))
    for one in projections:
        for op in reversed(one.ops):
            graph.remove(op)
    graph.add(Op(first.name, inputs, (value,), dict(first.attrs), index))
    for number, steps in enumerate(scaling):
        tables = zip(*(op.reads[1:] for op in steps), strict=True)
        operands = [_joined(f"{name}/{number}", each) for each in tables]
        scaled = Tensor(f"{name}/scaled{number}", value.shape)
        graph.add(Op(steps[0].name, (value, *operands), (scaled,), dict(steps[0].attrs), index))
        value = scaled
    for output, start in zip(outputs, accumulate(sizes, initial=0), strict=False):
        graph.add(slice_of(value, (*(0 for _ in rows), start), output, index))


def _joined(name: str, tables: Sequence[Tensor]) -> Tensor:
    """What the operands of projections amount to: one of them, or tables by channel as one."""
    first = tables[0]
    if all(each is first for each in tables) or first.data is None or first.elements == 1:
        return first
    parts = [each.data.reshape(-1) for each in tables if each.data is not None]
    return constant(f"{name}/{first.name}", np.concatenate(parts))
