"""Operators that compute the same result from the same inputs are merged.

a = RELU(x)   b = RELU(x)
becomes   a = RELU(x), and readers of b read a
"""

from collections.abc import Hashable, Mapping

from ...ir import Graph, Op, Tensor
from ...ops import OPS
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite

# Elements up to which constants are compared by content; larger ones are equal only to themselves.
LARGEST = 1 << 10


@graph_rewrite()
def eliminate_common_subexpressions(graph: Graph, target: Target) -> Attempts:
    """All operators with the same result at once; their readers may then have the same result."""
    merged: dict[Tensor, Tensor] = {}
    equal: dict[Hashable, list[Op]] = {}
    for op in graph.ops:
        if op.name not in OPS or op.epilogue or any(tensor.variable for tensor in op.reads):
            continue
        found = equal.setdefault(_identity(op, merged), [op])
        if found[0] is not op and "RANDOM" not in op.name:
            found.append(op)
            merged.update(zip(op.outputs, found[0].outputs, strict=True))
    for first, *others in equal.values():
        if others:
            yield Attempt((first, *others))
        for op in others:
            for old, new in zip(op.outputs, first.outputs, strict=True):
                graph.replace(old, new)
            graph.remove(op)


def _identity(op: Op, merged: Mapping[Tensor, Tensor]) -> Hashable:
    """Equal for operators that compute the same; `merged` has what replaces each equal tensor."""
    operands = tuple(
        None if tensor is None else _content(merged.get(tensor, tensor)) for tensor in op.inputs
    )
    results = tuple((tensor.shape, tensor.dtype) for tensor in op.outputs)
    attrs = tuple(sorted((key, repr(value)) for key, value in op.attrs.items()))
    return op.name, operands, results, attrs


def _content(tensor: Tensor) -> Hashable:
    if tensor.elements > LARGEST or tensor.data is None or tensor.data.dtype == object:
        return tensor
    return tensor.dtype, tensor.shape, tensor.data.tobytes(), tensor.quantization
