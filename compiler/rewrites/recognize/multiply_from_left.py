"""A layer between transposes that swap pixels and channels becomes a product from the left.

    t = TRANSPOSE(x[1,1,97,64]) perm=(0,1,3,2)   u = CONV_2D(t, w, b)   r = RELU(u)
    y = TRANSPOSE(r) perm=(0,1,3,2)
    becomes   p = BATCH_MATMUL(w, x)   s = ADD(p, b)   y = RELU(s)

Layers are 1x1 convolutions and fully connected layers; several may follow each other, with
activations between them. Networks that mix positions rather than channels, such as MLP-Mixer
(arXiv 2105.01601), are written this way.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir import Graph, Op, Tensor, constant
from ...ops.conv import groups, window
from ...ops.elementwise import ELEMENTWISE
from ...ops.transpose import permutation
from ...target import Target
from ..rewrite import Attempt, graph_rewrite


@graph_rewrite()
def multiply_from_left(graph: Graph, target: Target) -> Iterator[Attempt]:
    """After each transpose that swaps the last two axes."""
    for transpose in graph.ops:
        if transpose not in graph or not _swaps(transpose):
            continue
        steps = _steps(graph, transpose)
        if not any(_is_layer(step) for step in steps):
            continue
        back = graph.only_reader(steps[-1].output)
        if back is None or not _swaps(back):
            reason = "no transpose swaps pixels and channels back"
            yield Attempt((transpose, *steps, *([back] if back else [])), reason)
        else:
            yield Attempt((transpose, *steps, back))
            _multiply(graph, transpose, steps, back)


def _swaps(op: Op) -> bool:
    if op.name != "TRANSPOSE" or len(op.output.shape) not in (3, 4):
        return False
    rank = len(op.output.shape)
    return permutation(op) == [*range(rank - 2), rank - 1, rank - 2]


def _steps(graph: Graph, transpose: Op) -> list[Op]:
    """The layers and activations that follow, each the only reader of the one before."""
    steps: list[Op] = []
    op = graph.only_reader(transpose.output)
    while op is not None and (_is_layer(op) or _is_activation(op)):
        steps.append(op)
        op = graph.only_reader(op.output)
    return steps


def _is_activation(op: Op) -> bool:
    return op.name in ELEMENTWISE and not op.epilogue and len(op.reads) == 1


def _is_layer(op: Op) -> bool:
    """Whether an operator multiplies the channels of each pixel by constant weights."""
    if op.name not in ("CONV_2D", "FULLY_CONNECTED") or len(op.inputs) > 3 or op.epilogue:
        return False
    if any(tensor is not None and not tensor.constant for tensor in op.inputs[1:]):
        return False
    if op.name == "CONV_2D":
        return groups(op) == 1 and window(op).pointwise
    plain = op.attrs.get("weights_format", "DEFAULT") == "DEFAULT"
    return plain and op.output.shape[:-1] == op.operand(0).shape[:-1]


def _multiply(graph: Graph, transpose: Op, steps: list[Op], back: Op) -> None:
    value, result = transpose.operand(0), back.output
    for op in (back, *reversed(steps), transpose):
        graph.remove(op)
    left: list[Op] = []
    for step in steps:
        *outer, pixels, channels = step.output.shape
        shape = (*outer, channels, pixels)
        if not _is_layer(step):
            after = Tensor(f"{step.output.name}/swapped", shape)
            left.append(Op(step.name, (value,), (after,), step.attrs, step.index, step.version))
            value = after
            continue
        name = step.operand(1).name
        rows = step.constant(1).reshape(*[1] * len(outer), channels, -1)
        product = Tensor(f"{step.output.name}/product", shape)
        attrs = {"adj_x": False, "adj_y": False}
        factors = (constant(f"{name}/rows", rows), value)
        left.append(Op("BATCH_MATMUL", factors, (product,), attrs, step.index))
        value = product
        if step.input(2) is not None:
            bias = constant(f"{name}/bias", step.constant(2).reshape(channels, 1))
            after = Tensor(f"{step.output.name}/swapped", shape)
            left.append(Op("ADD", (value, bias), (after,), {}, step.index))
            value = after
    left[-1].set_results((result,))
    for op in left:
        graph.add(op)
