"""Two consecutive transposes become one; if they cancel, `drop_identity` removes it.

    t = TRANSPOSE(x) perm=p   y = TRANSPOSE(t) perm=q   z = TANH(t)
    becomes   y = TRANSPOSE(x) perm=p[q]   t = TRANSPOSE(x) perm=p   z = TANH(t)

The first one stays if its result is also used elsewhere; the second one costs no more than before.
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
    """In the order of execution, so that a chain of any length becomes one transpose."""
    for second in graph.ops:
        first = graph.producer(second.operand(0)) if second.name == "TRANSPOSE" else None
        if first is None or first.name != "TRANSPOSE":
            continue
        yield Attempt((first, second))
        order, later = permutation(first), permutation(second)
        both = np.array([order[axis] for axis in later], np.int32)
        graph.set_inputs(second, (first.operand(0), constant(f"{second.output.name}/order", both)))
        if not graph.is_used(first.output):
            graph.remove(first)
