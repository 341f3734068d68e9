"""Quantized constants of operators that compute in float32 are dequantized.

    y = FULLY_CONNECTED(x, w: int8, scale 0.1)   becomes   y = FULLY_CONNECTED(x, 0.1 * w)

LiteRT rounds x to 8 bits for such an operator; here x keeps full precision. Axes, sizes and indices
are left alone, and so are integers of 32 bits and more, whatever quantization the file gives them.
"""

from ...ir import Graph, Tensor
from ...ir.tensor import dequantized
from ...ops.base.operands import operands_of
from ...ops.base.storage import INTEGERS
from ...ops.litert_part import LITERT
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite(required=True)
def dequantize_constants(graph: Graph, target: Target) -> Attempts:
    """For every operator whose results are all float32."""
    real: dict[Tensor, Tensor] = {}
    for op in graph.ops:
        if op.name in (LITERT, "CAST", "DEQUANTIZE") or any(
            tensor.dtype != "float32" for tensor in op.outputs
        ):
            continue
        declared = operands_of(op)
        stays = declared.integers(op) if declared else []
        for tensor in op.reads:
            kept = tensor in real or tensor in stays or tensor.dtype in INTEGERS
            values = None if kept else dequantized(tensor)
            if values is not None:
                real[tensor] = Tensor(f"{tensor.name}/real", tensor.shape, "float32", values)
        inputs = [t if t is None or t in stays else real.get(t, t) for t in op.inputs]
        if inputs != [*op.inputs]:
            yield Attempt((op,))
            graph.set_inputs(op, inputs)
