"""The sum of two fully connected layers with different inputs becomes one kernel.

    a = FULLY_CONNECTED(x, v)   b = FULLY_CONNECTED(h, w)   y = ADD(a, b)
    becomes   y = tflgpu.fully_connected_sum(x, v, none, h, w, none)

A step of a recurrent network is such a sum. The order of summation does not change.
"""

from ...ir import Graph, Op
from ...ops.layers.weights import computed_weights
from ...ops.matmul.fully_connected_sum import NAME
from ..rewrite import also_used, rewrite

MAX_ROWS = 4  # Most rows; with more, two kernels that compute tiles of several rows are faster.


@rewrite("FULLY_CONNECTED", "ADD")
def add_fully_connected(graph: Graph, first: Op, total: Op) -> str | None:
    other = total.operand(1 if total.operand(0) is first.output else 0)
    second = graph.producer(other)
    if second is None or second.name != "FULLY_CONNECTED" or second is first:
        return "the other summand is not another fully connected layer"
    if graph.only_reader(other) is not total:
        return also_used(other)
    if not total.output.shape == first.output.shape == other.shape:
        return "one summand broadcasts"
    for layer in (first, second):
        if reason := computed_weights(layer):
            return reason
        if layer.attrs.get("weights_format", "DEFAULT") != "DEFAULT":
            return "the weights have a shuffled format"
        if layer.operand(0).shape[-1] != layer.operand(1).shape[1]:
            return "an input is not split into rows of the weights' width"
    rows = total.output.elements // total.output.shape[-1]
    if rows > MAX_ROWS:
        return f"{rows} rows are faster in kernels that compute tiles of rows"
    layers = [second, first] if total.operand(0) is other else [first, second]
    inputs = [layer.input(position) for layer in layers for position in range(3)]
    result, index = total.output, total.index
    for op in (total, first, second):
        graph.remove(op)
    graph.add(Op(NAME, tuple(inputs), (result,), {}, index))
    return None
