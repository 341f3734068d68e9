"""A layer between transposes that swap pixels and channels becomes a product from the left.

    t = TRANSPOSE(x[1,1,97,64]) perm=(0,1,3,2)   u = CONV_2D(t, w, b)   r = RELU(u)
    y = TRANSPOSE(r) perm=(0,1,3,2)
    becomes   p = BATCH_MATMUL(w, x)   s = ADD(p, b)   y = RELU(s)

Layers are 1x1 convolutions and fully connected layers; several may follow each other, with
activations between them. Networks that mix positions rather than channels, such as MLP-Mixer
(arXiv 2105.01601), are written this way.

Few channels that lie before several axes of pixels are multiplied likewise on processors, where
slices of channels would be mostly empty, and a softmax along pixels may lie in between. Talking
heads (arXiv 2003.02436) mix so the scores of attention:

    t = TRANSPOSE(x[1,4,49,49]) perm=(0,2,3,1)   u = FULLY_CONNECTED(t, w[4,4], b)
    y = TRANSPOSE(u) perm=(0,3,1,2)
    becomes   f = RESHAPE(x) new_shape=(1,4,2401)   p = BATCH_MATMUL(w, f)   s = ADD(p, b)
              y = RESHAPE(s) new_shape=(1,4,49,49)
"""

from math import prod

from ...ir import Graph, Op, Tensor
from ...ops.conv.conv import groups, window
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...ops.layers.weights import computed_weights
from ...ops.move.transpose import permutation
from ...ops.reduce.softmax import softmax_axis
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite()
def multiply_from_left(graph: Graph, target: Target) -> Attempts:
    """After each transpose that makes the channels the last axis."""
    for transpose in graph.ops:
        axis = _channels(transpose) if transpose in graph else None
        if axis is None:
            continue
        steps = _steps(graph, transpose, axis)
        if not any(_is_layer(step) for step in steps):
            continue
        back = graph.only_reader(steps[-1].output)
        if back is None or not _brings_back(back, axis):
            reason = "no transpose swaps pixels and channels back"
            yield Attempt((transpose, *steps, *([back] if back else [])), reason)
        elif filled := _fill_slices(transpose, steps, axis, target):
            yield Attempt((transpose, *steps, back), filled)
        else:
            yield Attempt((transpose, *steps, back))
            here = Decomposition(graph, back, target)
            here.apply(_build(here, transpose.operand(0), steps, axis))


def _channels(op: Op) -> int | None:
    """The axis that a transpose makes the last one, while the others keep their order, or None."""
    if op.name != "TRANSPOSE" or len(op.output.shape) not in (3, 4):
        return None
    *others, axis = permutation(op)
    moves = others == sorted(others) and axis < len(others)
    return axis if moves else None


def _brings_back(op: Op, axis: int) -> bool:
    if op.name != "TRANSPOSE":
        return False
    last = len(op.output.shape) - 1
    return permutation(op) == [*range(axis), last, *range(axis, last)]


def _steps(graph: Graph, transpose: Op, axis: int) -> list[Op]:
    """The layers and what lies between them, each the only reader of the one before."""
    steps: list[Op] = []
    op = graph.only_reader(transpose.output)
    while op is not None and (_is_layer(op) or _is_activation(op) or _is_softmax(op, axis)):
        steps.append(op)
        op = graph.only_reader(op.output)
    return steps


def _fill_slices(transpose: Op, steps: list[Op], axis: int, target: Target) -> str | None:
    """Why channels before several axes of pixels are better multiplied in slices; None if not."""
    if axis == len(transpose.output.shape) - 2:
        return None
    channels = max(tensor.shape[-1] for tensor in (transpose.output, *(s.output for s in steps)))
    if target.on_processor and 2 * channels <= target.lanes:
        return None
    return f"{channels} channels fill slices"


def _is_softmax(op: Op, axis: int) -> bool:
    if op.name != "SOFTMAX" or op.epilogue:
        return False
    return axis <= softmax_axis(op) < len(op.output.shape) - 1


def _is_activation(op: Op) -> bool:
    return op.name in ELEMENTWISE and not op.epilogue and len(op.reads) == 1


def _is_layer(op: Op) -> bool:
    """Whether an operator multiplies the channels of each pixel by constant weights."""
    if op.name not in ("CONV_2D", "FULLY_CONNECTED") or len(op.inputs) > 3 or op.epilogue:
        return False
    if computed_weights(op):
        return False
    if op.name == "CONV_2D":
        return groups(op) == 1 and window(op).pointwise
    plain = op.attrs.get("weights_format", "DEFAULT") == "DEFAULT"
    return plain and op.output.shape[:-1] == op.operand(0).shape[:-1]


def _build(here: Decomposition, value: Tensor, steps: list[Op], axis: int) -> Tensor:
    """What layers make of a value whose channels lie before its pixels."""
    pixels = value.shape[axis + 1 :]
    for step in steps:
        outer, channels = value.shape[:axis], value.shape[axis]
        if _is_layer(step):
            # Weights times all pixels, as if these were one axis.
            columns = here.reshape(value, (*outer, channels, prod(pixels)))
            weights = step.constant(1).reshape(*[1] * len(outer), step.output.shape[-1], -1)
            rows = here.constant(weights)
            value = here.add("BATCH_MATMUL", rows, columns, adj_x=False, adj_y=False)
            if step.input(2) is not None:
                value = here.add("ADD", value, here.constant(step.constant(2).reshape(-1, 1)))
        elif step.name == "SOFTMAX":
            # Along the same pixels, whose axis is one further now.
            apart = here.reshape(value, (*outer, channels, *pixels))
            value = here.add("SOFTMAX", apart, **{**step.attrs, "axis": softmax_axis(step) + 1})
        else:
            value = here.add(step.name, value, **step.attrs)
    return here.reshape(value, here.op.output.shape)
