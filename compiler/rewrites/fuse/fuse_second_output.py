"""An elementwise operator is computed where its operand is, though others need the operand, too.

    t = CONV_2D(x, w)   y = PRELU(t, a)   z = MAX_POOL_2D(t)
    becomes   y, t=%0 = CONV_2D(x, w) | PRELU(%0, a)   z = MAX_POOL_2D(t)

The kernel stores the value twice, raw and activated, and no other kernel reads it to activate it.
What else the operator reads must be there before that kernel runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...devices import Profile
from ...events import Event, describe
from ...ir import Graph, Op
from ...ops.elementwise import ELEMENTWISE
from ..rewrite import check
from .fuse_elementwise import append, unfit

RULE = "fuse_second_output"


def fuse_second_output(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it to what is left once elementwise operators went where they alone are needed."""
    events = []
    begun = {op: position for position, op in enumerate(graph.ops)}
    ends = dict(begun)
    for op in begun:
        if op.name not in ELEMENTWISE:
            continue
        producers = {host for tensor in op.reads if (host := graph.producer(tensor))}
        for host in sorted(producers, key=begun.__getitem__, reverse=True):
            if graph.only_reader(host.output) is op:
                continue
            reason = _objection(graph, host, op, profile, begun, ends)
            events.append(Event(RULE, (describe(host), describe(op)), reason))
            if reason is None:
                append(graph, host, op, keep=True)
                ends[host] = ends[op]
                check(graph, RULE)
                break
    return events


def _objection(
    graph: Graph,
    host: Op,
    op: Op,
    profile: Profile,
    begun: Mapping[Op, int],
    ends: Mapping[Op, int],
) -> str | None:
    """Why a host cannot compute an operator besides what it gives others.

    `begun` and `ends` are the first and the last place in the order of execution that operators
    had of which a kernel consists: what ended before the host began cannot depend on it.
    """
    if op.stored:
        return "it stores two values itself"
    others = [graph.producer(tensor) for tensor in op.reads if tensor is not host.output]
    if any(other is not None and ends[other] >= begun[host] for other in others):
        return "another operand may not be there yet"
    return unfit(host, op, profile, results=2)
