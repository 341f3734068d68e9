"""Two transposes in a row are one; if they undo each other, `drop_identity` takes that one away.

t = TRANSPOSE(x) perm=p   y = TRANSPOSE(t) perm=q
becomes   y = TRANSPOSE(x) perm=p[q]
"""

from __future__ import annotations

import numpy as np

from ..ir import Graph, Op, constant
from ..ops.transpose import permutation
from .rewrite import Declined, rewrite


@rewrite("TRANSPOSE", "TRANSPOSE")
def merge_transposes(graph: Graph, first: Op, second: Op) -> Declined | None:
    if first.operand(0).constant:
        return Declined("the first one transposes a constant")
    order, later = permutation(first), permutation(second)
    both = np.array([order[axis] for axis in later], np.int32)
    graph.set_inputs(second, (first.operand(0), constant(f"{second.output.name}/order", both)))
    graph.remove(first)
    return None
