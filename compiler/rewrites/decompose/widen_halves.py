"""Layers of float16 are computed with float32, as are the operators that read their results.

    y = FULLY_CONNECTED(x: float16, w: float16)   z = TANH(y)
    becomes   a = CAST(x): float32   b = FULLY_CONNECTED(a, w: float32)   c = TANH(b)   z = CAST(c)

Elementwise operators and moves take float16 as it is; on the device it has the size of float32.
What DYNAMIC_UPDATE_SLICE updates stays float16, so that it can be updated in place.
"""

import numpy as np

from ...ir import Graph, Op, Tensor
from ...ops import OPS
from ...ops.litert_part import LITERT
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite

HALF = "float16"

# Operators to which the type itself matters.
CONVERTS = frozenset(["BITCAST", "CAST", "DEQUANTIZE", LITERT])

UPDATE = "DYNAMIC_UPDATE_SLICE"


@graph_rewrite(required=True)
def widen_halves(graph: Graph, target: Target) -> Attempts:
    """In execution order; results are rounded to float16 where anything still reads them so."""
    wide: dict[Tensor, Tensor] = {}
    for op in graph.ops:
        if not _widens(op, wide):
            continue
        yield Attempt((op,))
        graph.set_inputs(op, [_widened(graph, tensor, op, wide) for tensor in op.inputs])
        results = {tensor: _like(tensor) for tensor in op.outputs if tensor.dtype == HALF}
        graph.set_outputs(op, [results.get(tensor, tensor) for tensor in op.outputs])
        for half, full in results.items():
            if graph.is_used(half):
                wide[half] = full
    for half, full in wide.items():
        if graph.producer(half) is None and half not in graph.inputs and graph.is_used(half):
            source = graph.producer(full)
            assert source is not None
            graph.add(Op("CAST", (full,), (half,), {}, source.index, origins=source.origins))


def _widens(op: Op, wide: dict[Tensor, Tensor]) -> bool:
    """Whether an operator has no kernel for float16, or reads what is there as float32."""
    if op.name not in OPS or op.name in CONVERTS:
        return False
    if all(tensor.dtype != HALF for tensor in (*op.reads, *op.outputs)):
        return False
    read = op.inputs[:1] if op.name == UPDATE else op.inputs
    return HALF not in OPS[op.name].dtypes or any(tensor in wide for tensor in read if tensor)


def _like(tensor: Tensor) -> Tensor:
    return Tensor(f"{tensor.name}/wide", tensor.shape, "float32")


def _widened(
    graph: Graph, tensor: Tensor | None, op: Op, wide: dict[Tensor, Tensor]
) -> Tensor | None:
    """A tensor as float32, if it is float16."""
    if tensor is None or tensor.dtype != HALF:
        return tensor
    if tensor not in wide:
        full = wide[tensor] = _like(tensor)
        if tensor.data is not None:
            full.content = tensor.data.astype(np.float32)
        else:
            graph.add(Op("CAST", (tensor,), (full,), {}, op.index, origins=op.origins))
    return wide[tensor]
