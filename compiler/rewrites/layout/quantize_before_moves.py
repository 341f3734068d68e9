"""Floats are quantized before an operator that repeats them, so that it moves bytes.

    t = RESIZE_NEAREST_NEIGHBOR(x)   y = tflgpu.quantize(t)
    becomes   q = tflgpu.quantize(x)   y = RESIZE_NEAREST_NEIGHBOR(q)

Results do not change by a single bit.
"""

from ...ir import Graph, Op, Tensor
from ..rewrite import rewrite

# Operators whose results consist of elements of their first operand, some of them repeated.
REPEATING = ("BROADCAST_TO", "MIRROR_PAD", "RESIZE_NEAREST_NEIGHBOR", "TILE")


@rewrite(REPEATING, "tflgpu.quantize", backwards=True)
def quantize_before_moves(graph: Graph, move: Op, quantize: Op) -> str | None:
    source, result = move.operand(0), quantize.output
    if graph.producer(source) is None:
        return "no kernel computes the floats, which could store bytes instead"
    small = Tensor(f"{result.name}/small", source.shape, result.dtype)
    graph.set_inputs(quantize, (source,))
    graph.set_outputs(quantize, (small,))
    graph.set_inputs(move, (small, *move.inputs[1:]))
    graph.set_outputs(move, (result,))
    return None
