"""A transposed convolution with stride 1 becomes a convolution with a flipped window.

y = TRANSPOSE_CONV(x, w[O,h,w,I]), stride 1   becomes   y = CONV_2D(x, w[O,-h,-w,I])
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op, constant
from ...ops.transpose_conv import bias_position, input_image, window
from ..rewrite import Declined, rewrite


@rewrite({"TRANSPOSE_CONV", "Convolution2DTransposeBias"})
def transpose_conv_to_conv(graph: Graph, op: Op) -> Declined | None:
    shape, image, weights = window(op), input_image(op), op.operand(1)
    if (shape.stride_y, shape.stride_x) != (1, 1):
        return Declined("the stride is not 1")
    if weights.data is None:
        return Declined("the weights are computed while the model runs")
    sizes = zip(op.output.shape[1:3], image.shape[1:3], weights.shape[1:3], strict=True)
    before = (shape.height - 1 - shape.top, shape.width - 1 - shape.left)
    after = [
        outputs + size - 1 - inputs - first
        for (outputs, inputs, size), first in zip(sizes, before, strict=True)
    ]
    if min(*before, *after) < 0:
        return Declined("some input pixels do not contribute to the output")
    flipped = constant(f"{weights.name}/flipped", np.ascontiguousarray(weights.data[:, ::-1, ::-1]))
    bias = op.input(bias_position(op))
    op.name = "CONV_2D"
    op.attrs = {
        "padding": ((before[0], after[0]), (before[1], after[1])),
        "stride_h": 1,
        "stride_w": 1,
    }
    graph.set_inputs(op, (image, flipped, *([bias] if bias else [])))
    return None
