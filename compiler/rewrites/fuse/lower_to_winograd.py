"""A 3x3 convolution of many channels is the three steps of Winograd's algorithm.

    y = CONV_2D(x, w, b) | RELU(%0)     with w 3x3
    becomes   t = tflgpu.winograd_input(x)      s = tflgpu.winograd_product(t, w')
              y = tflgpu.winograd_output(s, none, b) | RELU(%0)

Each step has work-items for all of a picture, as GPUs need them, and stores what it computes. Where
a work-item takes its squares of outputs through all steps, the convolution has a kernel for that.
The device's profile says how many channels and squares are worth it.
"""

from __future__ import annotations

from ...devices import Profile
from ...events import Event, describe
from ...ir import Graph, Op, Tensor, constant
from ...ops import winograd
from ...ops.base import slices
from ...ops.conv import constant_weights, groups, window
from ...ops.winograd_steps import INPUT, OUTPUT, PRODUCT
from ..rewrite import check

RULE = "divide_by_winograd"

LARGEST = 1 << 27
"""Bytes of a buffer with which every OpenGL ES 3.1 device works."""


def divide_by_winograd(graph: Graph, profile: Profile) -> list[Event]:
    """Apply it to convolutions whose elementwise operators are fused already."""
    events = []
    for op in graph.ops:
        if op.name == "CONV_2D" and op.operand(1).shape[1:3] == (3, 3):
            reason = _objection(op, profile)
            events.append(Event(RULE, (describe(op),), reason))
            if reason is None:
                _divide(graph, op)
                check(graph, RULE)
    return events


def _objection(op: Op, profile: Profile) -> str | None:
    if groups(op) != 1 or op.input(3) is not None:
        return "the channels are split into groups or multiplied by an input"
    objection = constant_weights(op, profile) or winograd.objection(op, window(op), profile)
    if objection is None and profile.half:
        return "sums of products would be stored in half precision"
    if objection is None and winograd.apart(op, profile) is None:
        return "one kernel does all steps"
    return objection or _too_large(op, profile)


def _too_large(op: Op, profile: Profile) -> str | None:
    """Why terms and sums, of more values than the pictures they are of, have no room."""
    channels = max(op.operand(0).shape[3], op.output.shape[3])
    values = op.output.shape[0] * winograd.TERMS * winograd.squares(op)
    size = values * slices(channels, profile) * profile.slice_width * profile.lane_bytes
    return f"{size} bytes of terms are more than a buffer may have" if size > LARGEST else None


def _divide(graph: Graph, op: Op) -> None:
    batch, height, width, outputs = op.output.shape
    inputs = op.operand(0).shape[3]
    size = {"size": (height, width)}
    squares = winograd.squares(op)
    terms = Tensor(f"{op.output.name}/terms", (batch, winograd.TERMS, squares, inputs))
    sums = Tensor(f"{op.output.name}/sums", (batch, winograd.TERMS, squares, outputs))
    weights = constant(f"{op.operand(1).name}/terms", winograd.transform(op.constant(1)))
    spread = {**size, "window": window(op)}
    graph.add(Op(INPUT, (op.operand(0),), (terms,), spread, op.index))
    graph.add(Op(PRODUCT, (terms, weights), (sums,), {}, op.index))
    bias = op.input(2)
    op.name, op.attrs = OUTPUT, size
    graph.set_inputs(op, (sums, None, bias))
