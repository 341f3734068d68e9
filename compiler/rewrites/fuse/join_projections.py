"""Projections of the same rows to queries, keys and values become one layer.

    q = FULLY_CONNECTED(x, wq, bq)   k = FULLY_CONNECTED(x, wk, bk)   y = tflgpu.attention(q, k, v)
    becomes   p = FULLY_CONNECTED(x, [wq; wk], [bq; bk])   q = SLICE(p)   k = SLICE(p)   y = ...

The slices of channels are views, and the rows are read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np

from ...ir import Array, Graph, Op, Tensor, constant
from ...ops import RESHAPES
from ...ops.attention import NAME
from ...ops.base import bhwc
from ...ops.rotation import NAME as ROTATION
from ...target import Target
from ..rewrite import Attempt, graph_rewrite
from ..slices import slice_of

PASSED = RESHAPES | {ROTATION}
"""What may stand between a layer and the attention, its first operand coming from the layer."""


@graph_rewrite()
def join_projections(graph: Graph, target: Target) -> Iterator[Attempt]:
    for op in graph.ops:
        if op.name != NAME:
            continue
        found = [_projection(graph, op, tensor, target) for tensor in op.reads[:3]]
        layers = [layer for layer in found if layer is not None]
        alike = [layer for layer in layers if _alike(layer, layers[0])]
        if len(alike) > 1:
            yield Attempt(tuple(alike))
            _join(graph, alike)


def _projection(graph: Graph, attention: Op, tensor: Tensor, target: Target) -> Op | None:
    """The layer that computes an operand alone, reshapes and a rotation aside, if parts of it can
    be views."""
    op, reader = graph.producer(tensor), attention
    while op is not None and op.name in PASSED and graph.only_reader(op.output) is reader:
        reader = op
        op = graph.producer(op.operand(0))
    if op is None or op.name != "FULLY_CONNECTED" or graph.only_reader(op.output) is not reader:
        return None
    if any(each is not None and each.data is None for each in op.inputs[1:]):
        return None
    shape = op.output.shape
    views = len(shape) <= 4 and bhwc(shape)[0] == 1 and shape[-1] % target.lanes == 0
    floats = all(each.dtype == "float32" for each in (*op.reads, op.output))
    return op if views and floats and not op.epilogue else None


def _alike(layer: Op, other: Op) -> bool:
    return layer.operand(0) is other.operand(0) and layer.attrs == other.attrs


def _join(graph: Graph, layers: Sequence[Op]) -> None:
    first = layers[0]
    name, index, rows = first.output.name, first.index, first.output.shape[:-1]
    sizes = [layer.output.shape[-1] for layer in layers]
    weights = np.concatenate([layer.constant(1) for layer in layers])
    biases = np.concatenate([_bias(layer) for layer in layers])
    joined = Tensor(f"{name}/joined", (*rows, sum(sizes)))
    inputs = (
        first.operand(0),
        constant(f"{name}/weights", weights),
        constant(f"{name}/biases", biases) if biases.any() else None,
    )
    outputs = [layer.output for layer in layers]
    for layer in layers:
        graph.remove(layer)
    graph.add(Op("FULLY_CONNECTED", inputs, (joined,), dict(first.attrs), index))
    for output, start in zip(outputs, accumulate(sizes, initial=0), strict=False):
        graph.add(slice_of(joined, (*(0 for _ in rows), start), output, index))


def _bias(layer: Op) -> Array:
    if layer.input(2) is None:
        return np.zeros(layer.output.shape[-1], np.float32)
    return layer.constant(2)
