"""A slice of a concatenation reads just the operands that it takes.

t = CONCATENATION(a, b, c)   y = SLICE(t), all of b and c
becomes   y = CONCATENATION(b, c)

A loop that collects its results cuts a tensor in two in each iteration and puts a row between.
Without the slices only the last of these tensors is left.
"""

from collections.abc import Iterator
from dataclasses import replace

from ...ir import Graph, Op, Tensor, constant
from ...ops.move.concat import concat_axis
from ...ops.move.slice import SLICES, ranges
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite()
def take_parts_of_concat(graph: Graph, target: Target) -> Attempts:
    """Of operators that take one block; concatenations that nothing reads then are removed."""
    for op in graph.ops:
        concat = graph.producer(op.operand(0)) if op.name in SLICES else None
        if concat is None or concat.name != "CONCATENATION":
            continue
        parts = _parts(graph, op, concat) or []
        reason = None if parts else "it takes a part of an operand"
        if len(parts) > 1 and _stays(graph, concat):
            reason = "the concatenation stays, and copies of its operands are more launches"
        if (yield Attempt((concat, op), reason)):
            _read(graph, op, concat, parts)
            graph.remove_unread([concat])


def _stays(graph: Graph, concat: Op) -> bool:
    """Whether something else reads a concatenation than slices that can take its operands."""
    readers = graph.consumers(concat.output)
    taking = (each.name in SLICES and _parts(graph, each, concat) is not None for each in readers)
    return graph.is_output(concat.output) or not all(taking)


def _parts(graph: Graph, op: Op, concat: Op) -> list[Tensor] | None:
    """The operands that a slice takes as a whole, constants cut to size; None if others remain."""
    axis = concat_axis(concat)
    taken = ranges(op)
    for place, (found, extent) in enumerate(zip(taken, concat.output.shape, strict=True)):
        if found.step != 1 or (place != axis and len(found) != extent):
            return None
    start, parts = 0, []
    for tensor in _operands(graph, concat, axis):
        first = max(taken[axis].start - start, 0)
        last = min(taken[axis].stop - start, tensor.shape[axis])
        start += tensor.shape[axis]
        if first >= last:
            continue
        if tensor.quantization != op.output.quantization:
            return None
        if (first, last) == (0, tensor.shape[axis]):
            parts.append(tensor)
        elif tensor.data is None:
            return None
        else:
            rows = tensor.data.take(range(first, last), axis)
            part = constant(f"{op.output.name}/{tensor.name}", rows)
            parts.append(replace(part, quantization=tensor.quantization))
    return parts


def _operands(graph: Graph, concat: Op, axis: int) -> Iterator[Tensor]:
    """What is concatenated, and what concatenations along the same axis among it consist of."""
    for position in range(len(concat.inputs)):
        tensor = concat.operand(position)
        inner = graph.producer(tensor)
        if inner is not None and inner.name == "CONCATENATION" and concat_axis(inner) == axis:
            yield from _operands(graph, inner, axis)
        else:
            yield tensor


def _read(graph: Graph, op: Op, concat: Op, parts: list[Tensor]) -> None:
    """Let readers of a slice read its parts together, in the shape of its output."""
    result, shape = op.output, tuple(len(taken) for taken in ranges(op))
    if shape != result.shape:
        together = parts[0]
        if len(parts) > 1:
            together = Tensor(f"{result.name}/parts", shape, result.dtype)
            graph.add(Op("CONCATENATION", parts, (together,), concat.attrs, op.index))
        graph.set_inputs(op, (together,))
        op.name, op.attrs = "RESHAPE", {"new_shape": result.shape}
    elif len(parts) > 1:
        graph.set_inputs(op, parts)
        op.name, op.attrs = "CONCATENATION", concat.attrs
    else:
        graph.replace(result, parts[0])
        graph.remove(op)
