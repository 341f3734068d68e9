"""Numbers of bfloat16 are held as float32.

y = CAST(x: float32): bfloat16   z = CAST(y): float32
becomes   y = tflgpu.round_to_bfloat16(x): float32   z = CAST(y): float32
"""

from functools import partial

from ...ir import Graph, Op, Tensor
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite(required=True)
def hold_bfloat16(graph: Graph, target: Target) -> Attempts:
    """Those that no application reads: numpy has no such type."""
    for op in graph.ops:
        if op.name != "CAST" or op.output.dtype != "bfloat16" or graph.is_output(op.output):
            continue
        yield Attempt((op,))
        source, result = op.operand(0), op.output
        graph.remove(op)
        new = partial(Op, index=op.index, origins=op.origins)
        if source.dtype != "float32":
            wide = Tensor(f"{result.name}/wide", result.shape)
            graph.add(new("CAST", (source,), (wide,)))
            source = wide
        rounded = Tensor(result.name, result.shape)
        graph.add(new("tflgpu.round_to_bfloat16", (source,), (rounded,)))
        graph.replace(result, rounded)
