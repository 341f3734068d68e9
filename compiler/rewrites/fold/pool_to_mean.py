"""An average over the whole image becomes a MEAN over rows and columns.

y = AVERAGE_POOL_2D(x[1,7,7,64]) filter_height=7 filter_width=7 padding=VALID
becomes   y = MEAN(x) keep_dims=True
"""

import numpy as np

from ...ir import Graph, Op, constant
from ...ops.reduce.pool import window
from ..rewrite import rewrite


@rewrite("AVERAGE_POOL_2D")
def pool_to_mean(graph: Graph, op: Op) -> str | None:
    _, rows, columns, _ = op.operand(0).shape
    if tuple(op.output.shape[1:3]) != (1, 1):
        return "it has more than one window"
    covered = window(op)
    if covered.height - covered.top < rows or covered.width - covered.left < columns:
        return "the window is smaller than the image"
    axes = constant(f"{op.output.name}/axes", np.array([1, 2], np.int32))
    graph.set_inputs(op, (op.operand(0), axes))
    op.name, op.attrs = "MEAN", {"keep_dims": True}
    return None
