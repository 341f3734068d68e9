"""A PAD that appends channels of zeros is folded into the ADD that reads it, as in BlazeFace.

t = PAD(r)   y = ADD(c, t)
becomes   y = tflgpu.add_padded(c, r)
"""

from __future__ import annotations

from ...ir import Graph, Op
from ...ops.binary import ADD_PADDED
from ...ops.pad import fill, paddings
from ..rewrite import Declined, rewrite


@rewrite({"PAD", "PADV2"}, "ADD")
def fold_pad_into_add(graph: Graph, pad: Op, add: Op) -> Declined | None:
    *outer, (before, _) = paddings(pad)
    if any(any(pair) for pair in outer) or before:
        return Declined("it pads more than the end of the channels")
    if fill(pad) != 0:
        return Declined(f"it pads with {fill(pad)}")
    wide = add.operand(1 if add.operand(0) is pad.output else 0)
    narrow = pad.operand(0)
    if wide is pad.output or wide.shape != add.output.shape or pad.output.shape != wide.shape:
        return Declined("the other operand has another shape")
    if narrow.shape[-1] == 1:
        return Declined("a single channel would broadcast to all channels")
    graph.set_inputs(add, (wide, narrow))
    add.name = ADD_PADDED
    graph.remove(pad)
    return None
