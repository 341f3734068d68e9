"""Fully connected layers in a row, on a single vector, are one kernel.

    t = CONV_2D(x[1,1,1,672], v) | RELU   y = CONV_2D(t, w) | LOGISTIC     both 1x1
    becomes   y = tflgpu.dense(x, v, w) activations=(RELU) | LOGISTIC

    m = MEAN(x[1,7,7,672])   y = tflgpu.dense(m, v, w)
    becomes   y = tflgpu.dense(x, v, w) mean=True

Such a layer is too little work for a device, so that launching it is what costs. One work-group
does several, one after another: squeeze and excite as a whole, and small networks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...devices import Profile
from ...events import Event, describe
from ...ir import Graph, Op, Post, Tensor, constant
from ...ops import fully_connected_chain
from ...ops.base import bhwc, slices
from ...ops.conv import groups, window
from ...ops.elementwise import ELEMENTWISE
from ...ops.reduce import axes
from ...ops.reshape import RESHAPES
from ..rewrite import check

RULE = "chain_dense"

MOST_WEIGHTS = 1 << 17
"""Weights that one work-group multiplies in the time several kernels for them would take."""

LARGEST_PICTURE = 1 << 16
"""Values that it averages in such a time."""


def chain_dense(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it along the order of execution, after elementwise operators are fused."""
    events = []
    for op in graph.ops:
        applied = _is_layer(op)
        while applied:
            first, views = _origin(graph, op.operand(0))
            if first is None or not (_is_layer(first) or first.name == "MEAN"):
                break
            names = (describe(first), describe(op))
            reason = _objection(graph, first, views, op, profile)
            if reason is None:
                _join(graph, first, views, op)
                check(graph, RULE)
            events.append(Event(RULE, names, reason))
            applied = reason is None
    return events


def _single(tensor: Tensor) -> bool:
    """Whether a tensor is one vector."""
    return bool(tensor.shape) and tensor.elements == tensor.shape[-1]


def _is_layer(op: Op) -> bool:
    """Whether an operator multiplies one vector with constant weights."""
    if op.name == fully_connected_chain.NAME:
        return True
    if op.name not in ("CONV_2D", "FULLY_CONNECTED") or len(op.inputs) > 3:
        return False
    if not _single(op.output) or any(t and not t.constant for t in op.inputs[1:]):
        return False
    if op.name == "FULLY_CONNECTED":
        plain = op.attrs.get("weights_format", "DEFAULT") == "DEFAULT"
        return plain and op.operand(0).elements == op.operand(1).shape[1]
    return _single(op.operand(0)) and groups(op) == 1 and window(op).pointwise


def _origin(graph: Graph, vector: Tensor) -> tuple[Op | None, list[Op]]:
    """What computes a vector, and the reshapes on the way that leave it one."""
    views: list[Op] = []
    op = graph.producer(vector)
    while op is not None and op.name in RESHAPES and _single(op.operand(0)):
        views.append(op)
        op = graph.producer(op.operand(0))
    return op, views


def _objection(graph: Graph, first: Op, views: list[Op], op: Op, profile: Profile) -> str | None:
    """Why two operators are not to be one kernel."""
    for step in (first, *views):
        again = step.stored or step.output in op.post_inputs
        if again or graph.only_reader(step.output) is None:
            return f"others need {step.output.name}, too"
    layers = _shapes(op)
    if first.name == "MEAN":
        if objection := _partial(first):
            return objection
    elif len(first.post) > 1 or any(not _plain(post) for post in first.post):
        return "between them is more than one elementwise operator of one operand"
    else:
        layers += _shapes(first)
    weights = sum(outputs * inputs for outputs, inputs in layers)
    if weights > MOST_WEIGHTS:
        return f"their {weights} weights are worth several work-groups"
    held = sum(slices(inputs, profile) * profile.slice_width for _, inputs in layers)
    if 4 * held > profile.local_memory:
        return f"{held} values between them do not fit in local memory"
    return None


def _partial(mean: Op) -> str | None:
    """Why a MEAN is not simply that of a picture's channels."""
    image = mean.operand(0)
    rank = len(image.shape)
    several = {axis for axis in range(rank) if image.shape[axis] > 1}
    if mean.post or rank > 4 or several - {rank - 1} != several & set(axes(mean)):
        return "the mean is not over all pixels, or more follows it"
    if bhwc(image.shape)[0] > 1:
        return "the mean is over several pictures"
    if image.elements > LARGEST_PICTURE:
        return f"averaging {image.elements} values is worth several work-groups"
    return None


def _plain(post: Post) -> bool:
    """Whether an elementwise operator needs nothing but its one operand."""
    row = ELEMENTWISE[post.name]
    return "{b}" not in row.expression and row.switch is None and not post.attrs


def _shapes(op: Op) -> list[tuple[int, int]]:
    """Outputs and inputs of each layer."""
    return [tensor.shape for tensor in _layers(op)[::2]]  # type: ignore[misc]


def _layers(op: Op) -> list[Tensor]:
    """Weights [outputs, inputs] and bias of each layer, one after the other."""
    if op.name == fully_connected_chain.NAME:
        return [tensor for tensor in op.inputs[1:] if tensor is not None]
    weights = op.constant(1)
    outputs = weights.shape[0]
    bias = op.input(2) or constant(f"{op.output.name}/bias", np.zeros(outputs, np.float32))
    return [constant(op.operand(1).name, weights.reshape(outputs, -1)), bias]


def _join(graph: Graph, first: Op, views: list[Op], op: Op) -> None:
    """Let an operator do what leads to it, too."""
    own: dict[str, Any] = {"activations": (), "mean": False}
    done = first.attrs if first.name == fully_connected_chain.NAME else own
    rest = op.attrs if op.name == fully_connected_chain.NAME else own
    layers = _layers(op)
    activations = rest["activations"]
    if first.name != "MEAN":
        layers = _layers(first) + layers
        between = first.post[0].name if first.post else "NONE"
        activations = (*done["activations"], between, *activations)
    mean = first.name == "MEAN" or done["mean"]
    op.name, op.version = fully_connected_chain.NAME, 1
    op.attrs = {"activations": activations, "mean": mean}
    graph.set_inputs(op, (first.operand(0), *layers))
    for step in (*views, first):
        graph.remove(step)
