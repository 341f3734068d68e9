"""Operators whose results follow from constants alone are computed, and removed.

    t = ADD(c, d) fused_activation_function=RELU   y = MUL(x, t)      with constants c and d
    becomes   y = MUL(x, t)                                           with the constant t

Shape inference does the same, as shapes may depend on the values. This pass computes what other
rewrites have made constant since.
"""

import numpy as np

from ...ir import Array, Graph, Op
from ...ops import OPS
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite, invalid_operator


@graph_rewrite(required=True)
def fold_constants(graph: Graph, target: Target) -> Attempts:
    """In the order of execution, so that what follows from computed constants is computed, too."""
    for op in graph.ops:
        if known(op):
            yield Attempt((op,))
            fold(graph, op)


def known(op: Op) -> bool:
    """Whether an operator's results follow from shapes and constants alone.

    References compute with the types of their operator; what a quantized one stands for they do
    not know, so all that it reads and writes must be quantized alike.
    """
    definition = OPS.get(op.name)
    if definition is None or definition.reference is None or op.epilogue:
        return False
    if any(tensor.dtype == "bfloat16" for tensor in op.outputs):  # numpy has no such type
        return False
    if definition.reads_shapes_only:
        return True
    if not all(tensor.constant and not tensor.variable for tensor in op.reads):
        return False
    everything = (*op.reads, *op.outputs)
    scaled = [t for t in everything if t.quantization is not None or t.blocks is not None]
    if len({t.quantization for t in scaled}) > 1:
        return False
    real = any(t.dtype.startswith("float") for t in everything)
    return all(t.dtype in definition.dtypes and t.dtype.startswith("float") == real for t in scaled)


def computed(op: Op) -> list[Array]:
    """The results of an operator that is `known`."""
    arrays = [t.data if t.data is not None else np.empty(0) for t in op.inputs if t is not None]
    return OPS[op.name].compute(op, arrays)


def fold(graph: Graph, op: Op) -> None:
    with invalid_operator(op):
        results = computed(op)
    graph.remove(op)
    for tensor, result in zip(op.outputs, results, strict=True):
        tensor.content, tensor.folded = result, True
