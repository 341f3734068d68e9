"""An elementwise operator is computed where its operand is, though others need the operand, too.

    t = CONV_2D(x, w)   y = PRELU(t, a)   z = MAX_POOL_2D(t)
    becomes   y, t = { t = CONV_2D(x, w) | y = PRELU(t, a) }   z = MAX_POOL_2D(t)

The kernel stores the value twice, raw and activated, and no other kernel reads it to activate it.
What else the operator reads must be there before that kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...ir import Graph, Op
from ...ops.elementwise import ELEMENTWISE
from ...target import Target
from ..rewrite import Attempt, graph_rewrite
from .fuse_elementwise import append, kernel_unsupported_reason


@graph_rewrite()
def fuse_second_output(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Of what is left once elementwise operators went where they alone are needed."""
    begun = {op: position for position, op in enumerate(graph.ops)}
    ends = dict(begun)
    for op in list(begun):
        if op.name not in ELEMENTWISE or op not in graph:
            continue
        producers = {host for tensor in op.reads if (host := graph.producer(tensor))}
        for host in sorted(producers, key=begun.__getitem__, reverse=True):
            if graph.only_reader(host.output) is op:
                continue
            reason = _unsupported_reason(graph, host, op, target, begun, ends)
            yield Attempt((host, op), reason)
            if reason is None:
                fused = append(graph, host, op, keep=True)
                begun[fused], ends[fused] = begun[host], ends[op]
                break


def _unsupported_reason(
    graph: Graph,
    host: Op,
    op: Op,
    target: Target,
    begun: Mapping[Op, int],
    ends: Mapping[Op, int],
) -> str | None:
    """Why a host cannot compute an operator besides what it gives others.

    `begun` and `ends` are the first and the last place in the order of execution that operators
    had of which a kernel consists: what ended before the host began cannot depend on it.
    """
    if len(op.outputs) > 1:
        return "it stores two values itself"
    others = [graph.producer(tensor) for tensor in op.reads if tensor is not host.output]
    if any(other is not None and ends[other] >= begun[host] for other in others):
        return "another operand may not be there yet"
    return kernel_unsupported_reason(host, op, target, outputs=2)
