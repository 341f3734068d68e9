"""A 3x3 convolution with many channels becomes the three steps of Winograd's algorithm.

    y = { t = CONV_2D(x, w, b) | y = RELU(t) }     with w 3x3
    becomes   t = tflgpu.winograd_input(x)      s = tflgpu.winograd_product(t, w')
              y = { r = tflgpu.winograd_output(s, none, b) | y = RELU(r) }

Each step is a kernel with as many work-items as a GPU needs, and stores its result in memory. On
processors, winograd does all steps in one kernel instead, unless there are more weights than
results. The device profile sets the fewest channels and squares of outputs that are worthwhile.
"""

from ...ir import FusedOp, Graph, Op, Tensor
from ...ops.base.storage import sliced_bytes
from ...ops.conv import winograd
from ...ops.conv.conv import groups, window
from ...ops.conv.winograd import INPUT, OUTPUT, PRODUCT
from ...ops.layers.weights import computed_weights
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite

LARGEST = 1 << 27  # Bytes of a buffer that every OpenGL ES 3.1 device supports.


@graph_rewrite()
def lower_to_winograd(graph: Graph, target: Target) -> Attempts:
    """For 3x3 convolutions, after elementwise fusion."""
    for op in graph.ops:
        if op.name != "CONV_2D" or op.operand(1).shape[1:3] != (3, 3):
            continue
        if (yield Attempt((op,), _unsupported_reason(op, target))):
            _lower(graph, op)


def _unsupported_reason(op: Op, target: Target) -> str | None:
    if groups(op) != 1 or op.input(3) is not None:
        return "the convolution is grouped or has a gate"
    if reason := computed_weights(op) or winograd.unsuited(op, window(op), target):
        return reason
    if target.half:
        return "the intermediate sums would be stored in half precision"
    if winograd.separate_steps(op, target) is None:
        return "winograd does all steps in one kernel"
    channels = max(op.operand(0).shape[3], op.output.shape[3])
    terms = (op.output.shape[0], winograd.TERMS, winograd.squares(op), channels)
    size = sliced_bytes(terms, target)
    return (
        f"its terms need {size} bytes, above the {LARGEST} of a buffer" if size > LARGEST else None
    )


def _lower(graph: Graph, op: Op) -> None:
    batch, height, width, outputs = op.output.shape
    inputs, result = op.operand(0).shape[3], op.core[0].output
    size = {"size": (height, width)}
    squares = winograd.squares(op)
    terms = Tensor(f"{op.output.name}/terms", (batch, winograd.TERMS, squares, inputs))
    sums = Tensor(f"{op.output.name}/sums", (batch, winograd.TERMS, squares, outputs))
    spread = {**size, "window": window(op)}
    last = Op(OUTPUT, (sums, None, op.input(2)), (result,), size, op.index, origins=op.origins)
    graph.remove(op)
    graph.add(Op(INPUT, (op.operand(0),), (terms,), spread, op.index))
    graph.add(Op(PRODUCT, (terms, op.operand(1)), (sums,), {}, op.index))
    graph.add(FusedOp(OUTPUT, (last,), op.epilogue, op.outputs) if op.epilogue else last)
