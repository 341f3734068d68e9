"""Every output of the model gets memory of its own, and so does what a variable gets of another.

An output that is the model's input, a constant, a variable, or a mere view of one of these or of
another output, is copied: `y = tflgpu.copy(x)`. Where a variable is to hold what another held
before the run, that is copied first, as the other may be written before it is read.
"""

from __future__ import annotations

from ...devices import Profile
from ...events import Event, describe
from ...ir import Graph, Op, Tensor
from ...ops.reshape import RESHAPES
from ..rewrite import check

RULE = "separate_outputs"


def separate_outputs(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it to the outputs in order; the first of several views of one value needs no copy."""
    events = []
    taken = set(graph.inputs)
    for position, tensor in enumerate(graph.outputs):
        source = _origin(graph, tensor)
        if source.constant or source.variable or source in taken:
            name = graph.output_names[position]
            copy = Tensor(f"{name}/output", tensor.shape, tensor.dtype)
            # A variable is written behind all others.
            last = max((op.index for op in graph.ops), default=0)
            index = 0 if source.variable else last
            op = graph.add(Op("tflgpu.copy", (tensor,), (copy,), index=index))
            graph.outputs[position] = copy
            events.append(Event(RULE, (describe(op),), None))
        taken.add(source)
    events += [_keep_first(graph, written) for written in _held_before(graph)]
    check(graph, RULE, everything=True)
    return events


def _held_before(graph: Graph) -> list[Tensor]:
    """What variables are to hold that variables held before the run."""
    return [
        written
        for written in graph.kept
        if (op := graph.producer(written)) and _origin(graph, op.operand(0)).variable
    ]


def _keep_first(graph: Graph, written: Tensor) -> Event:
    """Copy it before any variable is written."""
    op = graph.producer(written)
    assert op is not None
    value = op.operand(0)
    before = Tensor(f"{graph.kept[written].name}/before", value.shape, value.dtype)
    first = graph.add(Op("tflgpu.keep", (value,), (before,), {"variable": before.name}))
    graph.set_inputs(op, (before,))
    return Event(RULE, (describe(first),), None)


def _origin(graph: Graph, tensor: Tensor) -> Tensor:
    """What a tensor is a view of, itself if it is none."""
    while (producer := graph.producer(tensor)) and producer.name in RESHAPES and not producer.post:
        tensor = producer.operand(0)
    return tensor
