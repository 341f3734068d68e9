"""Consecutive fully connected layers on a single vector become one kernel.

    t = { s = CONV_2D(x[1,1,1,672], v) | t = RELU(s) }   y = CONV_2D(t, w)     both 1x1
    becomes   y = { s = CONV_2D(x, v) | t = RELU(s) | y = CONV_2D(t, w) }

    m = MEAN(x[1,7,7,672])   y = { s = CONV_2D(m, v) | t = RELU(s) | y = CONV_2D(t, w) }
    becomes   y = { m = MEAN(x) | s = CONV_2D(m, v) | t = RELU(s) | y = CONV_2D(t, w) }

Such a layer is so little work that its launch dominates. One work-group computes several of them in
sequence, such as all of squeeze-and-excite, or a small network.
"""

from ...ir import FusedOp, Graph, Op, Tensor
from ...ops import RESHAPES
from ...ops.base.storage import bhwc, slice_count
from ...ops.conv.conv import groups, window
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...ops.layers.weights import wide_sums
from ...ops.matmul.fully_connected_chain import NAME, layer_shapes
from ...ops.reduce.reduce import axes
from ...target import Target
from ..rewrite import Attempt, Attempts, also_used, graph_rewrite

MAX_WEIGHTS = 1 << 17  # Weights up to which one work-group is as fast as several kernels.
MAX_LAYERS = 64  # Layers of one kernel, which drivers take long to compile if it is large.

# Values of an image up to which one work-group averages it as fast as a separate kernel.
LARGEST_IMAGE = 1 << 16

# Means up to which one work-group keeps them in local memory that is cleared before it begins.
MEANS = 128


@graph_rewrite()
def fuse_fully_connected_chain(graph: Graph, target: Target) -> Attempts:
    """In the order of execution, after elementwise fusion."""
    for op in graph.ops:
        last: Op | None = op if op in graph and _is_layer(op) else None
        while last is not None:
            first, views = _source(graph, last.operand(0))
            if first is None or not (_is_layer(first) or first.name == "MEAN"):
                break
            reason = _unsupported_reason(graph, first, views, last, target)
            yield Attempt((first, last), reason)
            last = _join(graph, first, views, last) if reason is None else None


def _single(tensor: Tensor) -> bool:
    """Whether a tensor is a single vector along its last axis."""
    return bool(tensor.shape) and tensor.elements == tensor.shape[-1]


def _is_layer(op: Op) -> bool:
    """Whether an operator multiplies a single vector by constant weights."""
    if op.name == NAME:
        return True
    if op.name not in ("CONV_2D", "FULLY_CONNECTED") or len(op.inputs) > 3 or wide_sums(op):
        return False
    if not _single(op.output) or any(t and not t.constant for t in op.inputs[1:]):
        return False
    if op.name == "FULLY_CONNECTED":
        plain = op.attrs.get("weights_format", "DEFAULT") == "DEFAULT"
        return plain and op.operand(0).elements == op.operand(1).shape[1]
    return _single(op.operand(0)) and groups(op) == 1 and window(op).pointwise


def _source(graph: Graph, vector: Tensor) -> tuple[Op | None, list[Op]]:
    """The operator that computes a vector, and the reshapes between the two, in order."""
    views: list[Op] = []
    op = graph.producer(vector)
    while op is not None and op.name in RESHAPES and _single(op.operand(0)):
        views.insert(0, op)
        op = graph.producer(op.operand(0))
    return op, views


def _unsupported_reason(
    graph: Graph, first: Op, views: list[Op], last: Op, target: Target
) -> str | None:
    """Why two operators should not become one kernel; None if they should."""
    for op in (first, *views):
        again = len(op.outputs) > 1 or op.output in last.epilogue_inputs
        if again or graph.only_reader(op.output) is None:
            return also_used(op.output)
    shapes = layer_shapes(last)
    if first.name == "MEAN":
        if reason := _not_a_mean_of_pixels(first):
            return reason
        means = first.output.elements
        if target.language.clears_local_memory and means > MEANS:
            return f"clearing local memory for {means} means takes longer than a kernel"
    elif len(first.epilogue) > 1 or not all(map(_has_one_operand, first.epilogue)):
        return "more than one unary elementwise operator is between the layers"
    else:
        shapes += layer_shapes(first)
    if len(shapes) > MAX_LAYERS:
        return f"the kernel would compute {len(shapes)} layers; at most {MAX_LAYERS} are fused"
    weights = sum(outputs * inputs for outputs, inputs in shapes)
    if weights > MAX_WEIGHTS:
        return f"{weights} weights are faster with several work-groups"
    held = sum(slice_count(inputs, target) * target.lanes for _, inputs in shapes)
    if 4 * held > target.device.local_memory:
        return f"vectors of {held} values do not fit in local memory"
    return None


def _not_a_mean_of_pixels(mean: Op) -> str | None:
    """Why a MEAN is not simply over all pixels of one image; None if it is."""
    image = mean.operand(0)
    rank = len(image.shape)
    several = {axis for axis in range(rank) if image.shape[axis] > 1}
    if mean.epilogue or rank > 4 or several - {rank - 1} != several & set(axes(mean)):
        return "the mean is not over all pixels, or it has an epilogue"
    if bhwc(image.shape)[0] > 1:
        return "the mean is over several images"
    if image.elements > LARGEST_IMAGE:
        return f"averaging {image.elements} values is faster with several work-groups"
    return None


def _has_one_operand(op: Op) -> bool:
    """Whether an elementwise operator has one operand and no attributes."""
    row = ELEMENTWISE[op.name]
    return row.operands == 1 and not row.attributes


def _join(graph: Graph, first: Op, views: list[Op], last: Op) -> Op:
    """Fuse a layer with the operators that compute its input."""
    core = (*first.ops, *views, *last.core)
    for op in (last, *reversed(views), first):
        graph.remove(op)
    return graph.add(FusedOp(NAME, core, last.epilogue, last.outputs))
