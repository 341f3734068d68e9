"""A cheap elementwise operator is computed in each operator that reads it, and stored nowhere.

    y = RELU(x)   a = ADD(y, b)   d = { c = CONV_2D(i, w) | d = MUL(c, y) }
    becomes   a = { y = RELU(x) | a = ADD(y, b) }
              d = { c = CONV_2D(i, w) | y = RELU(x) | d = MUL(c, y) }

That is for operators that are a kernel of their own, as others need what they read, too. It saves a
kernel, and a write and a read of memory, where all readers work element by element on as many
elements: a convolution would compute the value anew for each tap and each block of channels. It is
done where fewer bytes are moved afterwards, nothing larger is kept for longer, and each step is one
of the few that cost less than a read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...ir import FusedOp, Graph, Op, Tensor, copies
from ...ops import OPS
from ...ops.elementwise import ELEMENTWISE
from ...target import Target
from ..rewrite import Attempt, graph_rewrite
from .fuse_elementwise import kernel_unsupported_reason

LONGEST = 4
"""Steps that are repeated at most."""


@graph_rewrite()
def rematerialize_elementwise(graph: Graph, target: Target) -> Iterator[Attempt]:
    """Of the elementwise kernels that fusion has left."""
    order = {op: position for position, op in enumerate(graph.ops)}
    for op in list(order):
        readers = graph.consumers(op.output) if op in graph else []
        if op.name not in ELEMENTWISE or len(readers) < 2:
            continue
        reason = _unsupported_reason(graph, op, readers, order, target)
        yield Attempt((op, *readers), reason)
        if reason is None:
            for reader in readers:
                order[_rematerialize(graph, op, reader)] = order[reader]
            graph.remove(op)


def _unsupported_reason(
    graph: Graph, op: Op, readers: list[Op], order: Mapping[Op, int], target: Target
) -> str | None:
    """Why an operator is better computed once; `order` is each one's place in that of execution."""
    value = op.output
    if graph.is_output(value):
        return "the model gives the value"
    costly = next((step.name for step in op.ops if not OPS[step.name].traits.cheap), None)
    if costly is not None:
        return f"computing {costly} again costs more than reading what it gave"
    if len(op.ops) > LONGEST:
        return f"its {len(op.ops)} steps cost more than reading what they gave"
    for reader in readers:
        first = value in reader.inputs
        if first and reader.name not in ELEMENTWISE:
            return f"{reader.name} may need an element more than once"
        host, fused = (op, reader) if first else (reader, op)
        if reason := kernel_unsupported_reason(host, fused, target):
            return reason
    whole = {tensor for tensor in op.reads if tensor.elements > 1}
    fresh = sum(_values(whole - set(reader.reads)) for reader in readers)
    now = _values(whole) + (1 + len(readers)) * value.elements
    if fresh >= now:
        return f"{fresh} values instead of {now} would be moved"
    last = max(order[reader] for reader in readers)
    longer = [tensor for tensor in whole if not _kept(graph, tensor, op, last, order)]
    if _values(longer) > value.elements:
        return f"{_values(longer)} values instead of {value.elements} would be kept for longer"
    return None


def _values(tensors: set[Tensor] | list[Tensor]) -> int:
    return sum(tensor.elements for tensor in tensors)


def _kept(graph: Graph, tensor: Tensor, op: Op, last: int, order: Mapping[Op, int]) -> bool:
    """Whether a tensor is there until the operator at the place `last`, even without `op`."""
    if tensor.constant or tensor in graph.inputs or graph.is_output(tensor):
        return True
    return any(reader is not op and order[reader] >= last for reader in graph.consumers(tensor))


def _rematerialize(graph: Graph, op: Op, reader: Op) -> Op:
    """Let a reader compute what an operator does; returns what it is then."""
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
