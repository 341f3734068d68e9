"""A CAST that changes nothing in the device's memory launches nothing.

    y: float32 = CAST(x: float16)   becomes   y = tflgpu.view(x)

The device holds float16 as float32, and most integers as int32.
"""

from ...ir import Graph, Op
from ...ops.elementwise.cast import same_elements
from ...ops.move.reshape import VIEW
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite()
def cast_to_view(graph: Graph, target: Target) -> Attempts:
    for op in graph.ops:
        if op.name == "CAST" and same_elements(op):
            yield Attempt((op,))
            inputs, outputs = op.inputs, op.outputs
            graph.remove(op)
            graph.add(Op(VIEW, inputs, outputs, index=op.index, origins=op.origins))
