"""The sum of two fully connected layers of different inputs is one kernel.

    a = FULLY_CONNECTED(x, v)   b = FULLY_CONNECTED(h, w)   y = ADD(a, b)
    becomes   y = tflgpu.fully_connected_sum(x, v, none, h, w, none)

A step of a recurrent network is such a sum. Values and the order of sums stay as they are.
"""

from __future__ import annotations

from ...ir import Graph, Op
from ...ops.fully_connected_sum import NAME
from ..rewrite import Declined, rewrite

MAX_ROWS = 4
"""Rows from which on tiles of several, which the sum's kernel lacks, are faster than one kernel."""


@rewrite("FULLY_CONNECTED", "ADD")
def add_fully_connected(graph: Graph, first: Op, total: Op) -> Declined | None:
    other = total.operand(1 if total.operand(0) is first.output else 0)
    second = graph.producer(other)
    if second is None or second.name != "FULLY_CONNECTED" or second is first:
        return Declined("what is added is no other fully connected layer")
    if graph.only_reader(other) is not total:
        return Declined(f"others need {other.name}, too")
    if not total.output.shape == first.output.shape == other.shape:
        return Declined("one of them broadcasts")
    for layer in (first, second):
        if any(tensor is not None and not tensor.constant for tensor in layer.inputs[1:]):
            return Declined("weights or a bias are computed while the model runs")
        if layer.attrs.get("weights_format", "DEFAULT") != "DEFAULT":
            return Declined("the weights are shuffled")
        if layer.operand(0).shape[-1] != layer.operand(1).shape[1]:
            return Declined("an input is not cut into rows")
    rows = total.output.elements // total.output.shape[-1]
    if rows > MAX_ROWS:
        return Declined(f"{rows} rows are better off in tiles of several")
    layers = [second, first] if total.operand(0) is other else [first, second]
    inputs = [layer.input(position) for layer in layers for position in range(3)]
    result, index = total.output, total.index
    for op in (total, first, second):
        graph.remove(op)
    graph.add(Op(NAME, tuple(inputs), (result,), {}, index))
    return None
