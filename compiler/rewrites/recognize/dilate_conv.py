"""A convolution between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND becomes a dilated convolution.

    s = SPACE_TO_BATCH_ND(x) block=(2,2)   c = CONV_2D(s, w)   y = BATCH_TO_SPACE_ND(RELU(c))
    becomes   c = CONV_2D(x, w) dilation_h_factor=2 dilation_w_factor=2   y = RELU(c)

Elementwise operators may stand between the convolution and BATCH_TO_SPACE_ND if they have one
operand, or otherwise only constants that are scalars or have one entry per channel.
"""

from ...ir import Array, Graph, Op
from ...ops.base.definition import window_of
from ...ops.elementwise.elementwise import ELEMENTWISE
from ..rewrite import rewrite


@rewrite("SPACE_TO_BATCH_ND", {"CONV_2D", "DEPTHWISE_CONV_2D"})
def dilate_conv(graph: Graph, spread: Op, op: Op) -> str | None:
    if op.operand(0) is not spread.output or len(spread.output.shape) != 4:
        return "the convolution does not read the blocks as its feature map"
    between, gather = _up_to_gather(graph, op)
    if gather is None:
        return "no BATCH_TO_SPACE_ND follows"
    block = _pair(spread.constant(1))
    if _pair(gather.constant(1)) != block:
        return "the block sizes before and after differ"
    window = window_of(op)
    assert window is not None
    if (window.stride_y, window.stride_x, window.dilation_y, window.dilation_x) != (1, 1, 1, 1):
        return "the convolution has a stride or dilation"
    padded, cropped = spread.constant(2).tolist(), gather.constant(2).tolist()
    inner = ((window.top, window.bottom), (window.left, window.right))
    padding = tuple(
        (
            int(padded[axis][0] + inner[axis][0] * block[axis] - cropped[axis][0]),
            int(padded[axis][1] + inner[axis][1] * block[axis] - cropped[axis][1]),
        )
        for axis in (0, 1)
    )
    if any(size < 0 for pair in padding for size in pair):
        return "the crops exceed the padding"
    dilation = {"dilation_h_factor": block[0], "dilation_w_factor": block[1]}
    op.attrs = {**op.attrs, **dilation, "padding": padding}
    result, last = gather.output, between[-1] if between else op
    graph.set_inputs(op, (spread.operand(0), *op.inputs[1:]))
    graph.remove(spread)
    graph.remove(gather)
    for step in (op, *between):
        step.output.shape = result.shape
    graph.set_outputs(last, (result,))
    return None


def _pair(block: Array) -> tuple[int, int]:
    rows, columns = (int(size) for size in block.reshape(-1))
    return rows, columns


def _up_to_gather(graph: Graph, op: Op) -> tuple[list[Op], Op | None]:
    """The elementwise operators that follow, and the BATCH_TO_SPACE_ND after them, if any."""
    between: list[Op] = []
    reader = graph.only_reader(op.output)
    while reader is not None and reader.name in ELEMENTWISE:
        operands = [tensor for tensor in reader.reads if tensor.constant]
        if len(reader.reads) != len(operands) + 1 or reader.epilogue:
            return between, None
        if any(t.elements != 1 and t.shape[-1] != t.elements for t in operands):
            return between, None
        between.append(reader)
        reader = graph.only_reader(reader.output)
    is_gather = reader is not None and reader.name == "BATCH_TO_SPACE_ND"
    return between, reader if is_gather else None
