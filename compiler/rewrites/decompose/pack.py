"""Packed tensors: PACK becomes a CONCATENATION, and stacked lists a PACK."""

import numpy as np

from ...ir import Tensor
from ...ops.control_flow import RESERVE, SET_ITEM, STACK
from .decomposition import Decomposition, decomposes


@decomposes("PACK")
def pack(here: Decomposition) -> Tensor:
    """RESHAPEs, which cost nothing, and a CONCATENATION along the new axis.

    y = PACK(a, b) axis=0   becomes   c = RESHAPE(a)   d = RESHAPE(b)   y = CONCATENATION(c, d)
    axis=0
    """
    axis = int(here.op.attrs.get("axis", 0)) % len(here.op.output.shape)
    operands = here.op.reads
    rows = [here.reshape(each, (*each.shape[:axis], 1, *each.shape[axis:])) for each in operands]
    return here.joined(rows, axis)


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
