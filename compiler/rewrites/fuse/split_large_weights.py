"""Weights of more bytes than a kernel may get of one buffer are split into ranges of rows.

    y = FULLY_CONNECTED(x, w[100000,512])
    becomes   p = FULLY_CONNECTED(x, w[:60000])   q = FULLY_CONNECTED(x, w[60000:])
              y = CONCATENATION(p, q)

    y = GATHER(table[100000,512], i)
    becomes   p = GATHER(table[:60000], i)   q = GATHER(table[60000:], clamp(i - 60000))
              y = SELECT_V2(i < 60000, p, q)

WebGPU guarantees 128 MiB, which tables of the words of a language pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ....runtime.plan.storage import WORD
from ...ir import Graph, Op, Tensor, constant
from ...ops.base import element_bytes
from ...ops.weights import stored_bits
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, graph_rewrite

BLOCK = 64
"""Rows that stay together: whole slices, and whole tiles of them."""


@graph_rewrite()
def split_large_weights(graph: Graph, target: Target) -> Iterator[Attempt]:
    """After layers are joined, and before elementwise operators are fused."""
    for op in graph.ops:
        weights = _weights(op)
        most = target.device.max_binding
        if weights is None or weights.shape[0] * _row(op, weights, target) <= most:
            continue
        rows = most // _row(op, weights, target) // BLOCK * BLOCK
        yield Attempt((op,), None if rows else "a few of its rows are as large")
        if rows:
            places = [*range(0, weights.shape[0], rows), weights.shape[0]]
            here = Decomposition(graph, op, target)
            split = _layer if op.name == "FULLY_CONNECTED" else _gather
            here.apply(split(here, places))


def _weights(op: Op) -> Tensor | None:
    """The constant of which each row has to do with other elements of the result, if any."""
    if op.name == "FULLY_CONNECTED":
        found = op.operand(1)
    elif op.name == "GATHER" and not op.attrs.get("axis") and not op.attrs.get("batch_dims"):
        found = op.operand(0)
    else:
        return None
    return found if found.constant and found.elements else None


def _row(op: Op, weights: Tensor, target: Target) -> int:
    """Bytes of a row on the device. That of a layer has a bias, which lies beside the weights."""
    length = weights.elements // weights.shape[0]
    if op.name == "GATHER":
        return length * element_bytes(weights)
    bits = stored_bits(op, target) or 8 * WORD
    return length * bits // 8 + WORD


def _layer(here: Decomposition, places: Sequence[int]) -> Tensor:
    x, weights, bias = here.op.operand(0), here.op.operand(1), here.op.input(2)
    parts = []
    for ends in pairwise(places):
        operands = x, _rows(weights, *ends), bias and _rows(bias, *ends)
        parts.append(here.add("FULLY_CONNECTED", *operands, **here.op.attrs))
    axis = len(here.op.output.shape) - 1
    return here.add("CONCATENATION", *parts, axis=axis)


def _gather(here: Decomposition, places: Sequence[int]) -> Tensor:
    table, indices = here.op.operand(0), here.op.operand(1)
    beside = here.reshape(indices, (*indices.shape, *(1 for _ in table.shape[1:])))
    # Of all parts, the first tells indices that are out of the whole table.
    result = here.add("GATHER", _rows(table, *places[:2]), indices, axis=0, limit=places[-1])
    for start, end in pairwise(places[1:]):
        within = here.add("SUB", indices, here.constant(start, indices.dtype))
        for bound, last in (("MINIMUM", end - start - 1), ("MAXIMUM", 0)):
            within = here.add(bound, within, here.constant(last, indices.dtype))
        part = here.add("GATHER", _rows(table, start, end), within, axis=0)
        before = here.add("LESS", beside, here.constant(start, indices.dtype), dtype="bool")
        result = here.add("SELECT_V2", before, result, part, dtype=result.dtype)
    return result


def _rows(tensor: Tensor, start: int, end: int) -> Tensor:
    assert tensor.data is not None
    return constant(f"{tensor.name}/{start}", tensor.data[start:end])
