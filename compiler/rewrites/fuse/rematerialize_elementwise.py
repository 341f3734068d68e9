"""A cheap elementwise operator is recomputed in each of its readers instead of being stored.

    y = RELU(x)   a = ADD(y, b)   d = { c = CONV_2D(i, w) | d = MUL(c, y) }
    becomes   a = { y = RELU(x) | a = ADD(y, b) }
              d = { c = CONV_2D(i, w) | y = RELU(x) | d = MUL(c, y) }

This applies to operators that are still separate kernels after fusion, because their operands are
also used elsewhere. It saves a kernel, a write and several reads. All readers must use the value in
an elementwise operator or an epilogue; a convolution would recompute it for every tap and block of
channels. It pays if fewer values are moved in total, no larger tensor stays alive for longer, and
every repeated operator is cheaper than a read.
"""

from collections.abc import Mapping

from ...ir import FusedOp, Graph, Op, Tensor, copies
from ...ops.base.definition import traits_of
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite
from .fuse_elementwise import kernel_unsupported_reason

LONGEST = 4  # Most operators that are repeated together.


@graph_rewrite()
def rematerialize_elementwise(graph: Graph, target: Target) -> Attempts:
    """For the elementwise operators that are still separate kernels after fusion."""
    order = {op: position for position, op in enumerate(graph.ops)}
    for op in list(order):
        readers = graph.consumers(op.output) if op in graph else []
        if op.name not in ELEMENTWISE or len(readers) < 2:
            continue
        if (yield Attempt((op, *readers), _unsupported_reason(graph, op, readers, order, target))):
            for reader in readers:
                order[_rematerialize(graph, op, reader)] = order[reader]
            graph.remove(op)


def _unsupported_reason(
    graph: Graph, op: Op, readers: list[Op], order: Mapping[Op, int], target: Target
) -> str | None:
    """Why an operator should be computed only once; `order` is the position of each operator."""
    value = op.output
    if graph.is_output(value):
        return "it is an output of the model"
    costly = next((step.name for step in op.ops if not traits_of(step.name).cheap), None)
    if costly is not None:
        return f"recomputing {costly} takes longer than reading its result"
    if len(op.ops) > LONGEST:
        return f"recomputing its {len(op.ops)} operators takes longer than reading their result"
    for reader in readers:
        # A core that reads the value must itself be elementwise, and the operator then becomes the
        # host of the fused operator. If only an epilogue reads it, the reader stays the host.
        first = value in reader.inputs
        if first and reader.name not in ELEMENTWISE:
            return f"{reader.name} may read an element more than once"
        host, fused = (op, reader) if first else (reader, op)
        if reason := kernel_unsupported_reason(host, fused, target):
            return reason
    # Each reader then reads the operands it did not read before. What is saved are the reads of
    # the operator itself, its write, and a read of the result by each reader.
    whole = {tensor for tensor in op.reads if tensor.elements > 1}
    fresh = sum(_values(whole - set(reader.reads)) for reader in readers)
    now = _values(whole) + (1 + len(readers)) * value.elements
    if fresh >= now:
        return f"{fresh} values instead of {now} would be moved"
    # The operands must live until the last reader, in place of the result.
    last = max(order[reader] for reader in readers)
    longer = [tensor for tensor in whole if not _kept(graph, tensor, op, last, order)]
    if _values(longer) > value.elements:
        return f"{_values(longer)} values instead of {value.elements} would stay alive longer"
    return None


def _values(tensors: set[Tensor] | list[Tensor]) -> int:
    return sum(tensor.elements for tensor in tensors)


def _kept(graph: Graph, tensor: Tensor, op: Op, last: int, order: Mapping[Op, int]) -> bool:
    """Whether a tensor is alive at position `last` in any case, even without `op`."""
    if tensor.constant or tensor in graph.inputs or graph.is_output(tensor):
        return True
    return any(reader is not op and order[reader] >= last for reader in graph.consumers(tensor))


def _rematerialize(graph: Graph, op: Op, reader: Op) -> Op:
    """Fuse a copy of an operator into a reader; returns the new reader."""
    ops, new = copies(op.ops)
    again = new[op.output]
    again.name = f"{op.output.name}/again"
    graph.replace_operand(reader, op.output, again)
    if again in reader.inputs:
        fused = FusedOp(op.name, ops[:1], (*ops[1:], *reader.ops), reader.outputs)
    else:
        fused = FusedOp(reader.name, reader.core, (*ops, *reader.epilogue), reader.outputs)
    graph.remove(reader)
    return graph.add(fused)
