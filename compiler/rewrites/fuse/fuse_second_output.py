"""An elementwise operator joins the epilogue of its producer even if others also read the operand.

    t = CONV_2D(x, w)   y = PRELU(t, a)   z = MAX_POOL_2D(t)
    becomes   y, t = { t = CONV_2D(x, w) | y = PRELU(t, a) }   z = MAX_POOL_2D(t)

The kernel stores both values, so that no second kernel has to read one to compute the other. The
operator's other operands must be computed before the kernel runs.
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
    """For the elementwise operators that remain after elementwise fusion."""
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
    """Why `host` cannot compute `op` in addition to its own result; None if it can.

    `begun` and `ends` are the first and last position, in the original order of execution, of the
    operators in a kernel. A kernel that ends before the host begins cannot depend on the host, so
    that fusing creates no cycle.
    """
    if len(op.outputs) > 1:
        return "it already has two outputs"
    others = [graph.producer(tensor) for tensor in op.reads if tensor is not host.output]
    if any(other is not None and ends[other] >= begun[host] for other in others):
        return "another operand may not be computed before the kernel runs"
    return kernel_unsupported_reason(host, op, target, keep=True)
