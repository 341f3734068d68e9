"""Two transposes in a row are one; if they undo each other, `drop_identity` takes that one away.

    t = TRANSPOSE(x) perm=p   y = TRANSPOSE(t) perm=q   z = TANH(t)
    becomes   y = TRANSPOSE(x) perm=p[q]   t = TRANSPOSE(x) perm=p   z = TANH(t)

The first one stays where others need it; the second one moves no more than before either way.
"""

from __future__ import annotations

import numpy as np

from ...devices import Profile
from ...events import Event, describe
from ...ir import Graph, constant
from ...ops.transpose import permutation
from ..rewrite import check

RULE = "merge_transposes"


def merge_transposes(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it along the order of execution, so that rows of any length become one."""
    events = []
    for second in graph.ops:
        first = graph.producer(second.operand(0)) if second.name == "TRANSPOSE" else None
        if first is None or first.name != "TRANSPOSE":
            continue
        order, later = permutation(first), permutation(second)
        both = np.array([order[axis] for axis in later], np.int32)
        events.append(Event(RULE, (describe(first), describe(second)), None))
        graph.set_inputs(second, (first.operand(0), constant(f"{second.output.name}/order", both)))
        if not graph.consumers(first.output) and not graph.is_output(first.output):
            graph.remove(first)
        check(graph, RULE)
    return events
