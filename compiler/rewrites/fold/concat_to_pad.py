"""A concatenation with zeros becomes a PAD, if its reader can fold padding.

t = CONCATENATION(x, zeros) axis=1   y = CONV_2D(t, w)
becomes   t = PAD(x)   y = CONV_2D(t, w)
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op, constant
from ...ops.concat import concat_axis
from ..rewrite import Declined, rewrite


@rewrite("CONCATENATION", {"ADD", "CONV_2D", "DEPTHWISE_CONV_2D"})
def concat_to_pad(graph: Graph, op: Op, reader: Op) -> Declined | None:
    computed = [i for i in range(len(op.inputs)) if not op.operand(i).constant]
    if len(computed) != 1 or len(op.inputs) == 1:
        return Declined("it does not concatenate one computed tensor with constants")
    if any(t.data.any() for t in op.reads if t.data is not None):
        return Declined("a constant is not all zeros")
    axis = concat_axis(op)
    sizes = [op.operand(i).shape[axis] for i in range(len(op.inputs))]
    table = np.zeros((len(op.output.shape), 2), np.int32)
    table[axis] = sum(sizes[: computed[0]]), sum(sizes[computed[0] + 1 :])
    source = op.operand(computed[0])
    graph.set_inputs(op, (source, constant(f"{op.output.name}/paddings", table)))
    op.name, op.attrs = "PAD", {}
    return None
