"""Two consecutive reshapes become one.

t = RESHAPE(x)   y = SQUEEZE(t)
becomes   y = RESHAPE(x)
"""

from __future__ import annotations

from ...ir import Graph, Op
from ...ops import RESHAPES
from ..rewrite import Declined, rewrite


@rewrite(RESHAPES, RESHAPES)
def merge_reshapes(graph: Graph, first: Op, second: Op) -> Declined | None:
    if second.operand(0) is not first.output:
        return Declined("the result is used as a shape")
    graph.set_inputs(second, (first.operand(0),))
    second.name, second.attrs = "RESHAPE", {"new_shape": second.output.shape}
    graph.remove(first)
    return None
