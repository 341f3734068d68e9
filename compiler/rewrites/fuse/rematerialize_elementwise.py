"""A cheap elementwise operator is computed in each operator that reads it, and stored nowhere.

    y = RELU(x)   a = ADD(y, b)   c = CONV_2D(i, w) | MUL(%0, y)
    becomes   a = RELU(x) | ADD(%0, b)   c = CONV_2D(i, w) | RELU(x) | MUL(%0, %1)

That is for operators that are a kernel of their own, as others need what they read, too. It saves a
kernel, and a write and a read of memory, where all readers work element by element on as many
elements: a convolution would compute the value anew for each tap and each block of channels. It is
done where fewer bytes are moved afterwards, nothing larger is kept for longer, and each step is one
of the few that cost less than a read.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...devices import Profile
from ...events import Event, describe
from ...ir import KERNEL_RESULT, Graph, Op, Post, Tensor
from ...ops.elementwise import ELEMENTWISE
from ..rewrite import check
from .fuse_elementwise import append, unfit

RULE = "repeat_elementwise"

CHEAP = frozenset(
    [
        *("ABS", "ADD", "DIV", "HARD_SWISH", "LEAKY_RELU", "MAXIMUM", "MINIMUM", "MUL", "NEG"),
        *("PRELU", "RELU", "RELU6", "RELU_0_TO_1", "RELU_N1_TO_1", "SQUARE", "SUB"),
    ]
)
"""Operators of one or two instructions; exponentials cost more than reading what they gave."""

LONGEST = 4
"""Steps that are repeated at most."""


def repeat_elementwise(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it to the elementwise kernels that fusion has left."""
    events = []
    order = {op: position for position, op in enumerate(graph.ops)}
    for op in list(order):
        readers = graph.consumers(op.output) if op in graph else []
        if op.name not in ELEMENTWISE or len(readers) < 2:
            continue
        reason = _objection(graph, op, readers, order, profile)
        events.append(Event(RULE, tuple(map(describe, (op, *readers))), reason))
        if reason is None:
            for reader in readers:
                order[_repeat(graph, op, reader)] = order[reader]
            graph.remove(op)
            check(graph, RULE)
    return events


def _objection(
    graph: Graph, op: Op, readers: list[Op], order: Mapping[Op, int], profile: Profile
) -> str | None:
    """Why an operator is better computed once; `order` is each one's place in that of execution."""
    value = op.output
    if graph.is_output(value):
        return "the model gives the value"
    names = [op.name, *(step.name for step in op.post)]
    costly = next((name for name in names if name not in CHEAP), None)
    if costly is not None:
        return f"computing {costly} again costs more than reading what it gave"
    if len(op.post) >= LONGEST:
        return f"its {len(op.post) + 1} steps cost more than reading what they gave"
    for reader in readers:
        first = value in reader.inputs
        if first and reader.name not in ELEMENTWISE:
            return f"{reader.name} may need an element more than once"
        if objection := unfit(op, reader, profile) if first else unfit(reader, op, profile):
            return objection
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


def _repeat(graph: Graph, op: Op, reader: Op) -> Op:
    """Let a reader compute what an operator does; returns what it is then."""
    if op.output in reader.inputs:
        again = Tensor(f"{op.output.name}/again", op.output.shape, op.output.dtype)
        copy = Op(op.name, op.inputs, (again,), op.attrs, op.index, op.version, op.post)
        copy.post_inputs = op.post_inputs
        graph.add(copy)
        _replace(graph, reader, op.output, again)
        append(graph, copy, reader)
        return copy
    _put_first(graph, op, reader)
    return reader


def _replace(graph: Graph, reader: Op, old: Tensor, new: Tensor) -> None:
    inputs = [new if tensor is old else tensor for tensor in reader.inputs]
    outside = [new if tensor is old else tensor for tensor in reader.post_inputs]
    graph.set_inputs(reader, inputs, outside)


def _put_first(graph: Graph, op: Op, reader: Op) -> None:
    """Put an operator and its post-operators in front of those of a reader."""
    outside = [tensor for tensor in reader.post_inputs if tensor is not op.output]
    outside += [tensor for tensor in dict.fromkeys(op.reads) if tensor not in outside]
    count = 1 + len(op.post)

    def moved(tensor: Tensor) -> int:
        return KERNEL_RESULT - count if tensor is op.output else outside.index(tensor)

    own = [moved(tensor) for tensor in op.inputs if tensor is not None]
    steps = [Post(op.name, tuple(own), op.attrs, op.index)]
    for post in op.post:
        # Its own value is the first one behind what the reader's kernel computes itself.
        operands = (i - 1 if i < 0 else moved(op.post_inputs[i]) for i in post.operands)
        steps.append(Post(post.name, tuple(operands), post.attrs, post.index))
    for post in reader.post:
        operands = (
            moved(reader.post_inputs[i]) if i >= 0 else i if i == KERNEL_RESULT else i - count
            for i in post.operands
        )
        steps.append(Post(post.name, tuple(operands), post.attrs, post.index))
    reader.post = tuple(steps)
    graph.set_inputs(reader, reader.inputs, outside)
