"""The kernel that finds the scales of rows makes integers of the rows as well.

    s, z = tflgpu.row_scales(x)   i = tflgpu.round_rows(x, s, z)
    becomes   i, s, z = { s, z = tflgpu.row_scales(x) | i = tflgpu.round_rows(x, s, z) }

A processor has the row at hand then. A GPU computes integers with more work-items than it has rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import FusedOp, Graph, Op
from ...ops.row_scales import QUANTIZED_ROWS, ROUNDING, ROW_SCALES
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite()
def fuse_row_scales(graph: Graph, target: Target) -> Iterator[Attempt]:
    for op in graph.ops:
        if op.name != ROW_SCALES:
            continue
        rounding = next((each for each in graph.consumers(op.output) if _rounds(each, op)), None)
        if rounding is None:
            continue
        reason = None if target.on_processor else "one work-item would compute all of a row"
        yield Attempt((op, rounding), reason)
        if reason is None:
            outputs = (rounding.output, *op.outputs)
            graph.remove(rounding)
            graph.remove(op)
            graph.add(FusedOp(QUANTIZED_ROWS, (*op.ops, *rounding.ops), (), outputs))


def _rounds(op: Op, scales: Op) -> bool:
    """Whether an operator only makes integers of the rows that scales are of."""
    operands = (scales.operand(0), *scales.outputs)
    return op.name in ROUNDING and len(op.ops) == 1 and op.inputs == operands
