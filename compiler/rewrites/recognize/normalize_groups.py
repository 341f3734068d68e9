"""Groups of channels are normalized without reshapes, so that gain and offset fuse.

    r = RESHAPE(x[1,64,64,128]) new_shape=(1,4096,32,4)   n = tflgpu.normalization(r) axes=(1,3)
    y = RESHAPE(n) new_shape=(1,64,64,128)
    becomes   y = tflgpu.normalization(x) axes=(1,3) shape=(1,4096,32,4)

GPUs keep the reshapes: their teams of work-items reduce tensors in slices.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import Graph, Op
from ...ops import RESHAPES
from ...ops.normalization import NAME
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite()
def normalize_groups(graph: Graph, target: Target) -> Iterator[Attempt]:
    """On processors, of rows that become others."""
    for op in graph.ops if target.on_processor else ():
        reshapes = _reshapes(graph, op) if op.name == NAME else None
        if reshapes is None:
            continue
        before, after = reshapes
        source, values, result = before.operand(0), op.operand(0), after.output
        ragged = source.shape[-1] % target.lanes
        reason = f"rows of {source.shape[-1]} elements are not whole slices" if ragged else None
        yield Attempt((before, op, after), reason)
        if reason is None:
            for each in reshapes:
                graph.remove(each)
            graph.set_inputs(op, (source,))
            graph.set_outputs(op, (result,))
            op.attrs = {**op.attrs, "shape": values.shape}


def _reshapes(graph: Graph, op: Op) -> tuple[Op, Op] | None:
    """The reshapes that cut the rows of what is normalized, and join them again."""
    values = op.operand(0)
    before, after = graph.producer(values), graph.only_reader(op.output)
    if before is None or after is None or not {before.name, after.name} <= RESHAPES:
        return None
    source = before.operand(0).shape
    if source != after.output.shape or source[-1:] == values.shape[-1:]:
        return None
    return (before, after) if graph.only_reader(values) is op else None
