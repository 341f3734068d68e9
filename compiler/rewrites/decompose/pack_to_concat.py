"""PACK becomes RESHAPEs, which cost nothing, and a CONCATENATION along the new axis.

y = PACK(a, b) axis=0   becomes   c = RESHAPE(a)   d = RESHAPE(b)   y = CONCATENATION(c, d) axis=0
"""

from __future__ import annotations

from ...ir import Graph, Op, Tensor
from ..rewrite import Declined, rewrite


@rewrite("PACK", required=True)
def pack_to_concat(graph: Graph, op: Op) -> Declined | None:
    rank = len(op.output.shape)
    axis = int(op.attrs.get("axis", 0)) % rank
    parts = []
    for position in range(len(op.inputs)):
        source = op.operand(position)
        shape = (*source.shape[:axis], 1, *source.shape[axis:])
        part = Tensor(f"{op.output.name}/part{position}", shape, source.dtype)
        if source.data is not None:
            part.data = source.data.reshape(shape)
        else:
            graph.add(Op("RESHAPE", (source,), (part,), {"new_shape": shape}, op.index))
        parts.append(part)
    outputs, index = op.outputs, op.index
    graph.remove(op)
    graph.add(Op("CONCATENATION", tuple(parts), outputs, {"axis": axis}, index))
    return None
