"""Elementwise operators become the epilogue of the operator that feeds them.

    t = CONV_2D(x, w)   y = ADD(t, r)   z = RELU(y)
    becomes   z = { t = CONV_2D(x, w) | y = ADD(t, r) | z = RELU(y) }

    s = LOGISTIC(x)   y = MUL(x, s)      with x = CONV_2D(i, w) read by nothing else
    becomes   y = { x = CONV_2D(i, w) | s = LOGISTIC(x) | y = MUL(x, s) }

Of several operands that could take it in, the one computed last does, since the others are there
by then. An operand may broadcast into the result, the host's value may not.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from ...ir import Graph, Op, fuse
from ...ops import OPS
from ...ops.elementwise import ELEMENTWISE
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite()
def fuse_elementwise(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Along the order of execution, so that epilogues grow operator by operator.

    An operator that took others in may thereby have become the only reader of its own operands,
    so it is tried again: that is how diamonds such as x * LOGISTIC(x) end up in one kernel.
    """
    order = {op: position for position, op in enumerate(graph.ops)}
    for op in list(order):
        current: Op | None = op
        while current is not None and current.name in ELEMENTWISE:
            current = yield from _take_in(graph, current, order, target)


def _take_in(
    graph: Graph, op: Op, order: dict[Op, int], target: Target
) -> Generator[Attempt, None, Op | None]:
    """Fuse an operator into one of those that feed it; returns what they are then.

    Elementwise ones come first: together they can then go into the store of yet another one.
    """
    hosts = {host for tensor in op.reads if (host := graph.producer(tensor))}
    declined: Attempt | None = None
    for host in sorted(hosts, key=lambda host: (host.name not in ELEMENTWISE, -order[host])):
        reason = _unsupported_reason(graph, host, op, target)
        if reason is None:
            yield Attempt((host, op))
            fused = append(graph, host, op)
            order[fused] = order[op]
            return fused
        declined = Attempt((host, op), reason)
    if declined:
        yield declined
    return None


def _unsupported_reason(graph: Graph, host: Op, op: Op, target: Target) -> str | None:
    """Why an operator cannot be in the epilogue of another one."""
    reason = kernel_unsupported_reason(host, op, target)
    if reason is None and graph.only_reader(host.output) is not op:
        return "others need the value, too"
    return reason


def kernel_unsupported_reason(host: Op, op: Op, target: Target, outputs: int = 1) -> str | None:
    """Why no kernel can compute `op` in the epilogue of `host` and write that many tensors."""
    definition = OPS.get(host.name)
    if definition is None or not definition.implementations:
        return f"{host.name} has no kernel"
    rows = definition.implementations
    if not all(row.fuses for row in rows) or len(host.outputs) != 1:
        return f"{host.name} has no epilogue"
    if host.output.shape != op.output.shape:
        return "the value broadcasts"
    if any(tensor.dtype != "float32" for tensor in (*op.reads, host.output, op.output)):
        return "not all values are float32"
    operands = {t for t in (*host.epilogue_inputs, *op.reads) if not t.constant}
    operands.discard(host.output)
    inputs = {t for t in host.inputs if t is not None and not t.constant}
    # What both read is bound twice where a kernel reads another storage than its epilogue does.
    mixed = any(row.reads != row.operands for row in rows)
    distinct = len(operands) + len(inputs) if mixed else len(operands | inputs)
    buffers = distinct + 1 + outputs
    limit = target.device.max_arguments
    return f"the kernel would need {buffers} buffers of {limit}" if buffers > limit else None


def append(graph: Graph, host: Op, op: Op, keep: bool = False) -> Op:
    """Let one fused operator take the place of both; with `keep` it also stores what `op` reads."""
    fused = fuse(host, op, keep)
    graph.remove(op)
    graph.remove(host)
    return graph.add(fused)
