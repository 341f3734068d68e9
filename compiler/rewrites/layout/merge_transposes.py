"""Two transposes in a row are one; if they undo each other, `drop_identity` takes that one away.

    t = TRANSPOSE(x) perm=p   y = TRANSPOSE(t) perm=q   z = TANH(t)
    becomes   y = TRANSPOSE(x) perm=p[q]   t = TRANSPOSE(x) perm=p   z = TANH(t)

The first one stays where others need it; the second one moves no more than before either way.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...ir import Graph, constant
from ...ops.transpose import permutation
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite()
def merge_transposes(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Along the order of execution, so that rows of any length become one."""
    for second in graph.ops:
        first = graph.producer(second.operand(0)) if second.name == "TRANSPOSE" else None
        if first is None or first.name != "TRANSPOSE":
            continue
        yield Attempt((first, second))
        order, later = permutation(first), permutation(second)
        both = np.array([order[axis] for axis in later], np.int32)
        graph.set_inputs(second, (first.operand(0), constant(f"{second.output.name}/order", both)))
        if not graph.consumers(first.output) and not graph.is_output(first.output):
            graph.remove(first)
