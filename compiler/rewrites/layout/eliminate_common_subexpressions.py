"""Operators that compute the same result from the same inputs are merged.

a = RELU(x)   b = RELU(x)
becomes   a = RELU(x), and readers of b read a
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from ...ir import Graph, Op, Tensor
from ...ops import OPS
from ...target import Target
from ..rewrite import Attempt, graph_rewrite

LARGEST = 1 << 12
"""Bytes up to which constants are compared by content; larger ones are equal only to themselves."""


@graph_rewrite()
def eliminate_common_subexpressions(graph: Graph, target: Target) -> Iterator[Attempt]:
    """In the order of execution, so that readers of merged results can be merged in turn."""
    seen: dict[Hashable, Op] = {}
    for op in graph.ops:
        if op.name not in OPS or op.epilogue or any(tensor.variable for tensor in op.reads):
            continue
        first = seen.setdefault(_identity(op), op)
        if first is op or "RANDOM" in op.name:
            continue
        yield Attempt((first, op))
        for old, new in zip(op.outputs, first.outputs, strict=True):
            graph.replace(old, new)
        graph.remove(op)


def _identity(op: Op) -> Hashable:
    """A key that is equal for operators that compute the same result."""
    operands = tuple(None if tensor is None else _content(tensor) for tensor in op.inputs)
    results = tuple((tensor.shape, tensor.dtype) for tensor in op.outputs)
    attrs = tuple(sorted((key, repr(value)) for key, value in op.attrs.items()))
    return op.name, operands, results, attrs


def _content(tensor: Tensor) -> Hashable:
    if tensor.data is None or tensor.data.nbytes > LARGEST or tensor.data.dtype == object:
        return tensor
    return tensor.dtype, tensor.shape, tensor.data.tobytes(), tensor.quantization
