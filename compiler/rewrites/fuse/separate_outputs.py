"""Every output of the model gets memory of its own, and so does what a variable gets of another.

An output that is the model's input, a constant, a variable, or a mere view of one of these or of
another output, is copied: `y = tflgpu.copy(x)`. Where a variable is to hold what another held
before the run, that is copied first, as the other may be written before it is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import Graph, Op, Tensor
from ...ops import RESHAPES
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite(required=True)
def separate_outputs(graph: Graph, target: Target) -> Iterator[Attempt]:
    """In the order of the outputs; the first of several views of one value needs no copy."""
    taken = set(graph.inputs)
    for position, tensor in enumerate(graph.outputs):
        source = _origin(graph, tensor)
        if source.constant or source.variable or source in taken:
            name = graph.output_names[position]
            copy = Tensor(f"{name}/output", tensor.shape, tensor.dtype)
            # A variable is written behind all others.
            last = max((op.index for op in graph.ops), default=0)
            op = Op("tflgpu.copy", (tensor,), (copy,), index=0 if source.variable else last)
            yield Attempt((op,))
            graph.add(op)
            graph.outputs[position] = copy
        taken.add(source)
    for written, op in _held_before(graph):
        value = op.operand(0)
        before = Tensor(f"{graph.kept[written].name}/before", value.shape, value.dtype)
        first = Op("tflgpu.keep", (value,), (before,), {"variable": before.name})
        yield Attempt((first,))
        graph.add(first)
        graph.set_inputs(op, (before,))


def _held_before(graph: Graph) -> list[tuple[Tensor, Op]]:
    """What variables are to hold that variables held before the run, and what copies it."""
    return [
        (written, op)
        for written in graph.kept
        if (op := graph.producer(written)) and _origin(graph, op.operand(0)).variable
    ]


def _origin(graph: Graph, tensor: Tensor) -> Tensor:
    """What a tensor is a view of, itself if it is none."""
    while (op := graph.producer(tensor)) and op.name in RESHAPES and not op.epilogue:
        tensor = op.operand(0)
    return tensor
