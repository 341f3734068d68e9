"""Packed tensors: PACK becomes a CONCATENATION, and stacked lists a PACK."""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op, Tensor
from ...ops.control_flow import RESERVE, SET_ITEM, STACK
from ..rewrite import Declined, rewrite
from .decomposition import Decomposition, decomposes


@rewrite("PACK", required=True)
def pack_to_concat(graph: Graph, op: Op) -> Declined | None:
    """PACK becomes RESHAPEs, which cost nothing, and a CONCATENATION along the new axis.

    y = PACK(a, b) axis=0   becomes   c = RESHAPE(a)   d = RESHAPE(b)   y = CONCATENATION(c, d)
    axis=0
    """
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


@decomposes(STACK)
def stack(here: Decomposition) -> Tensor | str:
    """Entries that are never set are zero."""
    entries: dict[int, Tensor] = {}
    source = here.graph.producer(here.op.operand(0))
    while source is not None and source.name == SET_ITEM:
        place = source.operand(1).data
        if place is None:
            return "the place of an entry is computed while the model runs"
        entries.setdefault(int(place), source.operand(2))
        source = here.graph.producer(source.operand(0))
    if source is None or source.name != RESERVE or not entries:
        return "the entries of its list are not known"
    length, *shape = here.op.output.shape
    zeros = here.constant(np.zeros(shape), here.op.output.dtype)
    rows = [entries.get(place, zeros) for place in range(length)]
    return here.add("PACK", *rows, axis=0, values_count=length)
