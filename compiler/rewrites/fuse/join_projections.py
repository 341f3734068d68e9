"""Layers, and rotations, of the same rows that lie beside each other become one."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ...ir import Array, Deferred, Graph, Op, Tensor, constant
from ...ops import RESHAPES
from ...ops.attention.attention import NAME as ATTENTION
from ...ops.attention.rotation import NAME as ROTATION
from ...ops.base.storage import bhwc
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...ops.layers.weights import computed_weights
from ...ops.matmul.fully_connected import OF_BLOCKS
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite
from .update_in_place import UPDATE


def joined_tables(layers: Sequence[Op], name: str) -> list[Tensor | None]:
    """The constant inputs of layers, those of one after the other's: weights, bias and the rest.

    The bias, which layers may lack, is None if it is 0 everywhere. The rest are tables of output
    channels that all of them have, such as the scales of blocks of weights.
    """
    first, *_ = layers

    def joined(position: int) -> Tensor:
        parts = [layer.operand(position) for layer in layers]
        shape = (sum(part.shape[0] for part in parts), *parts[0].shape[1:])
        values = Deferred(
            shape, np.dtype(parts[0].dtype), lambda: np.concatenate([part.values for part in parts])
        )
        return constant(f"{name}/joined{position}", values)

    biases = np.concatenate([_bias(layer) for layer in layers])
    bias = constant(f"{name}/biases", biases) if biases.any() else None
    return [joined(1), bias, *map(joined, range(3, len(first.inputs)))]


def _bias(layer: Op) -> Array:
    if layer.input(2) is None:
        return np.zeros(layer.operand(1).shape[0], np.float32)
    return layer.constant(2).reshape(-1)


# What may stand between a layer and the attention, its first operand coming from the layer.
PASSED = RESHAPES | {ROTATION}

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
def join_projections(graph: Graph, target: Target) -> Attempts:
    """Projections of the same rows to queries, keys and values become one layer.

        q = FULLY_CONNECTED(x, wq, bq)   k = FULLY_CONNECTED(x, wk, bk)
        y = tflgpu.attention(q, k, v)
        becomes   p = FULLY_CONNECTED(x, [wq; wk], [bq; bk])   q = SLICE(p)   k = SLICE(p)   y = ...

    The slices of channels are views, and the rows are read once. Reshapes, a rotation and an update
    of a cache may stand before the attention. What scales the sums of quantized weights is joined
    as well: elementwise operators that read a number for each row, which is the same, or for each
    channel.
    """
    for op in graph.ops:
        if op.name != ATTENTION:
            continue
        operands = dict.fromkeys(op.reads[:3])  # keys may be values, too
        found = [_projection(graph, op, tensor, target) for tensor in operands]
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
    if computed_weights(op):
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
    by_channel = _of_channels(one) and _of_channels(other)
    return by_channel or bool(np.array_equal(one.data, other.data))


def _of_channels(table: Tensor) -> bool:
    """Whether a table has a number for each channel rather than for each row, or for all."""
    return table.shape[-1:] == (table.elements,) != (1,)


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
        graph.add(_slice_of(value, (*(0 for _ in rows), start), output, index))


def _joined(name: str, tables: Sequence[Tensor]) -> Tensor:
    """What the operands of projections amount to: one of them, or tables by channel as one."""
    first = tables[0]
    if not _of_channels(first) or all(each is first for each in tables):
        return first
    parts = [each.data.reshape(-1) for each in tables if each.data is not None]
    return constant(f"{name}/{first.name}", np.concatenate(parts))


@graph_rewrite()
def join_rotations(graph: Graph, target: Target) -> Attempts:
    """Rotations by the same angles of neighbouring channels become one.

        q = SLICE(p) from 0   k = SLICE(p) from 128   a = tflgpu.rotate(q, cos, sin)   b = ... of k
        becomes   r = tflgpu.rotate(SLICE(p), cos, sin)
        a = SLICE(r) from 0   b = SLICE(r) from 128

    The slices are views, so that queries and keys of a joined projection are turned by one kernel.
    """
    for first in graph.ops:
        if first.name != ROTATION or first not in graph:
            continue
        second = _neighbour(graph, first)
        if second is not None:
            yield Attempt((first, second))
            _join_rotations(graph, first, second)


def _neighbour(graph: Graph, first: Op) -> Op | None:
    """The rotation of the channels after those that one turns."""
    source = _slice(graph, first)
    if source is None:
        return None
    begin = source.constant(1)
    end = [*begin[:-1], begin[-1] + first.output.shape[-1]]
    for reader in graph.consumers(source.operand(0)):
        second = graph.only_reader(reader.outputs[0])
        if second is None or second.name != ROTATION or _slice(graph, second) is not reader:
            continue
        tables = zip(first.reads[1:], second.reads[1:], strict=True)
        alike = second.attrs == first.attrs and all(_same_angles(graph, *pair) for pair in tables)
        rows = second.output.shape[:-1] == first.output.shape[:-1]
        if alike and rows and np.array_equal(reader.constant(1), end):
            return second
    return None


def _same_angles(graph: Graph, table: Tensor, other: Tensor) -> bool:
    """Whether two tables are one, constants with the same angles, or reshapes of such."""
    if table is other or table.shape != other.shape:
        return table is other
    if table.data is not None and other.data is not None:
        return np.array_equal(table.data, other.data)
    ops = [graph.producer(each) for each in (table, other)]
    sources = [op.operand(0) for op in ops if op is not None and op.name in RESHAPES]
    return len(sources) == 2 and _same_angles(graph, *sources)


def _slice(graph: Graph, rotation: Op) -> Op | None:
    """The slice that a rotation alone reads."""
    op = graph.producer(rotation.operand(0))
    if op is None or op.name != "SLICE" or rotation.epilogue or op.input(1) is None:
        return None
    alone = graph.only_reader(op.output) is rotation and op.operand(1).constant
    return op if alone else None


def _join_rotations(graph: Graph, first: Op, second: Op) -> None:
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
    graph.add(_slice_of(source.operand(0), begin.tolist(), both, source.index))
    graph.add(Op(ROTATION, (both, *first.inputs[1:]), (turned,), dict(first.attrs), first.index))
    for op, start in ((first, 0), (second, sizes[0])):
        graph.add(_slice_of(turned, (*(0 for _ in rows), start), op.output, op.index))


def _slice_of(whole: Tensor, begin: Sequence[int], part: Tensor, index: int) -> Op:
    """The operator that copies a part of a tensor from a corner on into a tensor of its size."""
    corner = constant(f"{part.name}/start", np.array(begin, np.int32))
    extent = constant(f"{part.name}/size", np.array(part.shape, np.int32))
    return Op("SLICE", (whole, corner, extent), (part,), {}, index)
