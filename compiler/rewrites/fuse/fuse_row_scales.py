"""The kernel that finds the scales of rows makes integers of the rows as well.

    s, z = tflgpu.row_scales(x)   i = tflgpu.round_rows(x, s, z)
    becomes   i, s, z = { s, z = tflgpu.row_scales(x) | i = tflgpu.round_rows(x, s, z) }

The row is at hand then, and is normalized before if nothing else reads it normalized:

    x = { n = tflgpu.normalization(w) | x = MUL(n, gain) }   i, s, z = { s, z = ... }
    becomes   i, s, z = { n = tflgpu.normalization(w)   x = MUL(n, gain)   s, z = ... }

The work-items of a group of a GPU share the row; where it is too short for that, more of them
compute integers than there are rows.
"""

from ...ir import FusedOp, Graph, Op
from ...ops.buffers import too_many_in_some
from ...ops.reduce.extremes import ROW_SCALES
from ...ops.reduce.normalization import NAME
from ...ops.reduce.quantized_rows import NAME as QUANTIZED_ROWS
from ...ops.reduce.quantized_rows import ROUNDING, too_short
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite
from .normalize_in_products import gain_and_offset, over_rows


@graph_rewrite()
def fuse_row_scales(graph: Graph, target: Target) -> Attempts:
    for op in graph.ops:
        if op.name != ROW_SCALES or op.attrs["axes"] != (len(op.operand(0).shape) - 1,):
            continue
        rounding = next((each for each in graph.consumers(op.output) if _rounds(each, op)), None)
        if rounding is None:
            continue
        short = None if target.on_processor else too_short(op.operand(0), target)
        reason = f"one work-item would compute all of a row: {short}" if short else None
        if (yield Attempt((op, rounding), reason)):
            outputs = (rounding.output, *op.outputs)
            fused = FusedOp(QUANTIZED_ROWS, (*op.ops, *rounding.ops), (), outputs)
            if (norm := _normalization(graph, op, rounding)) is not None:
                whole = FusedOp(QUANTIZED_ROWS, (*norm.ops, *fused.core), (), outputs)
                if (yield Attempt((norm, op), too_many_in_some(whole, target))):
                    graph.remove(norm)
                    fused = whole
            graph.remove(rounding)
            graph.remove(op)
            graph.add(fused)


def _normalization(graph: Graph, scales: Op, rounding: Op) -> Op | None:
    """What normalizes rows for them alone, with a gain and an offset of each channel, if any."""
    x = scales.operand(0)
    norm = graph.producer(x)
    if norm is None or norm.name != NAME or not over_rows(norm) or len(x.shape) > 4:
        return None
    if graph.is_output(x) or any(op not in (scales, rounding) for op in graph.consumers(x)):
        return None
    steps = tuple(step.name for step in norm.epilogue)
    return norm if steps in ((), ("MUL",), ("MUL", "ADD")) and gain_and_offset(norm) else None


def _rounds(op: Op, scales: Op) -> bool:
    """Whether an operator only makes integers of the rows that scales are of."""
    operands = (scales.operand(0), *scales.outputs)
    return op.name in ROUNDING and len(op.ops) == 1 and op.inputs == operands
