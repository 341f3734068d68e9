"""Elementwise operators join the epilogue of the operator that computes their operand."""

from collections.abc import Generator, Mapping

from ...ir import Graph, Op, fuse
from ...ops import OPS
from ...ops.buffers import too_many_in_some
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite

# Most operators of a kernel. This bounds the values that it holds at once, and the time that
# drivers take to compile it, which grows faster than its length.
MOST = 64


@graph_rewrite()
def fuse_elementwise(graph: Graph, target: Target) -> Attempts:
    """Elementwise operators join the epilogue of the operator that computes their operand.

        t = CONV_2D(x, w)   y = ADD(t, r)   z = RELU(y)
        becomes   z = { t = CONV_2D(x, w) | y = ADD(t, r) | z = RELU(y) }

        s = LOGISTIC(x)   y = MUL(x, s)      with x = CONV_2D(i, w) read by nothing else
        becomes   y = { x = CONV_2D(i, w) | s = LOGISTIC(x) | y = MUL(x, s) }

    If several producers could host an operator, the one that runs last does, because the other
    operands are available by then. The other operands may broadcast, but the host's result may not.

    In the order of execution, so that epilogues grow operator by operator.

    Fusing an operator may make the fused operator the only reader of another operand, so it is
    tried again. That is how diamonds such as x * LOGISTIC(x) end up in one kernel.
    """
    order = {op: position for position, op in enumerate(graph.ops)}
    for op in list(order):
        current: Op | None = op
        while current is not None and current.name in ELEMENTWISE:
            current = yield from _take_in(graph, current, order, target)


def _take_in(
    graph: Graph, op: Op, order: dict[Op, int], target: Target
) -> Generator[Attempt, bool | None, Op | None]:
    """Fuse an operator with one of its producers; returns the fused operator, None if none fits.

    Elementwise producers are tried first, since the result can then join yet another epilogue.
    """
    hosts = set(graph.producers(op.reads))
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
    """Why `op` cannot join the epilogue of `host`; None if it can."""
    reason = kernel_unsupported_reason(host, op, target)
    if reason is None and graph.only_reader(host.output) is not op:
        return "the value is also used elsewhere"
    return reason


def kernel_unsupported_reason(host: Op, op: Op, target: Target, keep: bool = False) -> str | None:
    """Why no kernel can compute `op` in the epilogue of `host`, and `keep` its result as well."""
    definition = OPS.get(host.name)
    if definition is None or not definition.implementations:
        return f"{host.name} has no kernel"
    rows = definition.implementations
    if not all(row.fuses for row in rows) or len(host.outputs) != 1:
        return f"the kernels of {host.name} have no epilogue"
    if host.output.shape != op.output.shape:
        return "the value broadcasts"
    count = len(host.ops) + len(op.ops)
    if count > MOST:
        return f"the kernel would compute {count} operators; at most {MOST} are fused"
    if any(tensor.dtype != "float32" for tensor in (*op.reads, host.output, op.output)):
        return "not all tensors are float32"
    return too_many_in_some(fuse(host, op, keep), target)


def append(graph: Graph, host: Op, op: Op, keep: bool = False) -> Op:
    """Replace both by one fused operator; with `keep` it also stores the output of `host`."""
    fused = fuse(host, op, keep)
    graph.remove(op)
    graph.remove(host)
    return graph.add(fused)


@graph_rewrite()
def fuse_second_output(graph: Graph, target: Target) -> Attempts:
    """An elementwise operator joins its producer's epilogue even if others also read the operand.

        t = CONV_2D(x, w)   y = PRELU(t, a)   z = MAX_POOL_2D(t)
        becomes   y, t = { t = CONV_2D(x, w) | y = PRELU(t, a) }   z = MAX_POOL_2D(t)

    The kernel stores both values, so that no second kernel has to read one to compute the other.
    The operator's other operands must be computed before the kernel runs.

    For the elementwise operators that remain after elementwise fusion.
    """
    begun = {op: position for position, op in enumerate(graph.ops)}
    ends = dict(begun)
    for op in list(begun):
        if op.name not in ELEMENTWISE or op not in graph:
            continue
        for host in sorted(set(graph.producers(op.reads)), key=begun.__getitem__, reverse=True):
            if graph.only_reader(host.output) is op:
                continue
            reason = _second_unsupported_reason(graph, host, op, target, begun, ends)
            if (yield Attempt((host, op), reason)):
                fused = append(graph, host, op, keep=True)
                begun[fused], ends[fused] = begun[host], ends[op]
                break


def _second_unsupported_reason(
    graph: Graph, host: Op, op: Op, target: Target, begun: Mapping[Op, int], ends: Mapping[Op, int]
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
