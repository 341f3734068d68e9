"""A convolution between blocks of batches is a dilated convolution.

t = SPACE_TO_BATCH_ND(x, 2x2)   u = CONV_2D(t, w) padding=VALID   y = BATCH_TO_SPACE_ND(u, 2x2)
becomes   y = CONV_2D(x, w) dilation 2x2, with the padding that the blocks add and do not crop
"""

from __future__ import annotations

from ..ir import Graph, Op
from .rewrite import Declined, rewrite


@rewrite("SPACE_TO_BATCH_ND", {"CONV_2D", "DEPTHWISE_CONV_2D"}, "BATCH_TO_SPACE_ND")
def merge_dilation(graph: Graph, cut: Op, conv: Op, joined: Op) -> Declined | None:
    if len(cut.operand(0).shape) != 4 or conv.operand(0) is not cut.output:
        return Declined("the blocks are not of a picture")
    attrs = conv.attrs
    plain = ("stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor")
    if attrs.get("padding") != "VALID" or any(attrs.get(name, 1) != 1 for name in plain):
        return Declined("the convolution has padding, strides or a dilation of its own")
    blocks = [int(size) for size in cut.constant(1)]
    if blocks != [int(size) for size in joined.constant(1)]:
        return Declined("blocks of another size are put together than were cut")
    padding = cut.constant(2) - joined.constant(2)
    if (padding < 0).any():
        return Declined("more is cropped than was padded")
    conv.attrs = {
        **attrs,
        "padding": tuple((int(before), int(after)) for before, after in padding),
        "dilation_h_factor": blocks[0],
        "dilation_w_factor": blocks[1],
    }
    outputs = joined.outputs
    graph.remove(joined)
    graph.set_outputs(conv, outputs)
    graph.set_inputs(conv, (cut.operand(0), *conv.inputs[1:]))
    graph.remove(cut)
    return None
