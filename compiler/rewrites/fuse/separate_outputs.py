"""Every output of the model gets memory of its own.

An output that is an input, a constant, a variable, or a view of one of these or of another output,
is copied: `y = tflgpu.copy(x)`. If a variable takes over the previous content of another variable,
that content is copied at the start of the run, because the other may be overwritten before it is
read. ModelError for an input or a constant that is an output and that no device can hold.
"""

from ....runtime.plan.storage import DEVICE_TYPES
from ...errors import ModelError
from ...ir import Graph, Op, Tensor
from ...ops import RESHAPES
from ...ops.elementwise.cast import KEEP
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite(required=True)
def separate_outputs(graph: Graph, target: Target) -> Attempts:
    """In the order of the outputs, so that the first of several views of a value needs no copy."""
    taken = set(graph.inputs)
    for position, tensor in enumerate(graph.outputs):
        source = _origin(graph, tensor)
        if source.constant or source.variable or source in taken:
            name = graph.output_names[position]
            if tensor.dtype not in DEVICE_TYPES:
                raise ModelError(
                    f"output {name} is {tensor.name} itself, which no operator computes, and no "
                    f"device can hold {tensor.dtype}; leave it out of the outputs"
                )
            copy = Tensor(f"{name}/output", tensor.shape, tensor.dtype)
            # Variables are written last, so a copy of one must run before that, at index 0.
            last = max((op.index for op in graph.ops), default=0)
            op = Op("tflgpu.copy", (tensor,), (copy,), index=0 if source.variable else last)
            yield Attempt((op,))
            graph.add(op)
            graph.outputs[position] = copy
        taken.add(source)
    for written, op in _held_before(graph):
        value = op.operand(0)
        before = Tensor(f"{graph.kept[written].name}/before", value.shape, value.dtype)
        first = Op(KEEP, (value,), (before,), {"variable": before.name})
        yield Attempt((first,))
        graph.add(first)
        graph.set_inputs(op, (before,))


def _held_before(graph: Graph) -> list[tuple[Tensor, Op]]:
    """Values written to variables that are the previous content of one, with their producers."""
    return [
        (written, op)
        for written in graph.kept
        if (op := graph.producer(written)) and _origin(graph, op.operand(0)).variable
    ]


def _origin(graph: Graph, tensor: Tensor) -> Tensor:
    """The tensor that a tensor is a reshaped view of; the tensor itself if it is none."""
    while (op := graph.producer(tensor)) and op.name in RESHAPES and not op.epilogue:
        tensor = op.operand(0)
    return tensor
