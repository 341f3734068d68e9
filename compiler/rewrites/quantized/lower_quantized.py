"""Quantized operators become float operators on centered integers.

    y = CONV_2D(x, w, b)    with int8 or uint8 tensors
    becomes
        c = tflgpu.to_centered(x)
        s = CONV_2D(c, w - zero point, b)
        r = tflgpu.requantize(s, scales)
        y = tflgpu.from_centered(r)

Between two quantized operators the conversions go away, and the centered integers flow.
"""

from ...ir import Graph, Op
from ...ops.elementwise.centered import FROM_CENTERED, TO_CENTERED
from ...ops.litert_part import LITERT
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite, invalid_operator
from . import LOWERINGS
from .lowering import WEIGHTS, Lowering

# The operators whose constants may have a scale for each block.
_OF_BLOCKS = ("EMBEDDING_LOOKUP", "FULLY_CONNECTED")

_OF_TABLES = ("EMBEDDING_LOOKUP", "GATHER")  # The operators whose results may be packed integers.


@graph_rewrite(required=True)
def lower_quantized(graph: Graph, target: Target) -> Attempts:
    """Lower every quantized operator for which a function is registered.

    UnsupportedError where the function has no formula for the operator's types, scales or sizes.
    """
    for op in graph.ops:
        if op.name not in LOWERINGS or not is_quantized(op):
            continue
        here = Lowering(graph, op, target)
        if op.name not in _OF_TABLES:
            here.require_unpacked(op.outputs)
        with invalid_operator(op):
            results = here.stored_results(LOWERINGS[op.name](here))
        yield Attempt((op,))
        here.apply(results)
    for op in graph.ops:
        source = graph.producer(op.operand(0)) if op.name == TO_CENTERED else None
        if source is not None and source.name == FROM_CENTERED and source.attrs == op.attrs:
            yield Attempt((source, op))
            graph.replace(op.output, source.operand(0))
            graph.remove(op)
            if not graph.is_used(source.output):
                source.operand(0).name = source.output.name
                graph.remove(source)


def is_quantized(op: Op) -> bool:
    """Whether an operator reads or writes quantized integers, or reads blocks of them."""
    if op.name in _OF_BLOCKS and op.operand(1).blocks is not None:
        return True
    return op.name != LITERT and any(
        tensor.dtype in WEIGHTS and tensor.quantization is not None
        for tensor in (*op.reads, *op.outputs)
    )
