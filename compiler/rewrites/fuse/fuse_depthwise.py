"""A depthwise convolution is computed in the kernel of the 1x1 convolution that reads it.

    t = DEPTHWISE_CONV_2D(x, v, a) | RELU6(%0)   y = CONV_2D(t, w, b)   with w 1x1
    becomes   y = tflgpu.depthwise_pointwise(x, w, b) depthwise=...

Each work-item then computes all output channels of its pixels, so that nothing is computed twice.
This pays where they are few; the device's profile says how many. On processors a work-item has a
whole row of pixels, and they may be many.
"""

from __future__ import annotations

from ...devices import Profile
from ...events import Event, describe
from ...ir import Graph, Op
from ...ops.conv import groups, window
from ...ops.depthwise_pointwise import NAME, fits
from ..rewrite import check

RULE = "fuse_depthwise"


def fuse_depthwise(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it to pairs whose elementwise operators are fused already."""
    events = []
    for depthwise in graph.ops:
        op = None
        if depthwise.name == "DEPTHWISE_CONV_2D" and not depthwise.stored:
            op = graph.only_reader(depthwise.output)
        if op is None or op.name != "CONV_2D":
            continue
        reason = _objection(depthwise, op, profile)
        events.append(Event(RULE, (describe(depthwise), describe(op)), reason))
        if reason is None:
            image, weights, bias = depthwise.operand(0), op.operand(1), op.input(2)
            graph.set_inputs(op, (image, weights, bias))
            graph.remove(depthwise)
            op.name, op.attrs = NAME, {"depthwise": depthwise}
            check(graph, RULE)
    return events


def _objection(depthwise: Op, op: Op, profile: Profile) -> str | None:
    if op.operand(0) is not depthwise.output or len(op.inputs) > 3:
        return "the convolution reads more than the depthwise convolution's picture"
    if depthwise.output in op.post_inputs:
        return "others need the value, too"
    if groups(op) != 1 or not window(op).pointwise:
        return "the convolution is not 1x1"
    constants = (*depthwise.inputs[1:], *op.inputs[1:])
    if any(tensor is not None and not tensor.constant for tensor in constants):
        return "weights or a bias are computed while the model runs"
    if depthwise.operand(1).shape[3] != depthwise.operand(0).shape[3]:
        return "the depthwise convolution has several outputs for an input"
    if any(tensor.elements != 1 or not tensor.constant for tensor in depthwise.post_inputs):
        return "its activation has an operand for each channel"
    inputs, outputs = depthwise.output.shape[3], op.output.shape[3]
    if max(inputs, outputs) > profile.fused_channels and outputs > profile.fused_outputs:
        return f"{inputs} and {outputs} channels are too many on {profile.name}"
    if profile.heavy_group == 1 and not fits(op.output.shape[2], inputs, profile):
        return f"a row of {inputs} channels takes more than {profile.local_memory} bytes"
    return None
