"""A reshape after a transpose moves before it, so that transposes become adjacent.

    t = TRANSPOSE(x[1,5,7,3]) perm=(0,3,1,2)   y = RESHAPE(t) new_shape=(1,3,35)
    becomes   r = RESHAPE(x) new_shape=(1,35,3)   y = TRANSPOSE(r) perm=(0,2,1)

Networks converted from channels-first frameworks flatten the pixels this way before they move the
channels back to the end. On the channels-last feature map before the transpose, the reshape is a
view.
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op, Tensor, constant
from ...ops import RESHAPES
from ...ops.transpose import permutation
from ..rewrite import Declined, rewrite
from .reshape_first import reshape_first


@rewrite("TRANSPOSE", RESHAPES)
def move_reshapes(graph: Graph, transpose: Op, reshape: Op) -> Declined | None:
    source, result = transpose.operand(0), reshape.output
    if reshape.operand(0) is not transpose.output:
        return Declined("the result of the transpose is used as a shape")
    if len(result.shape) > len(source.shape):
        return Declined("the reshape splits axes")
    found = reshape_first(source.shape, permutation(transpose), result.shape)
    if found is None:
        return Declined("the reshape merges axes that are not adjacent before the transpose")
    shape, order = found
    between = Tensor(f"{result.name}/first", shape, result.dtype, quantization=result.quantization)
    graph.set_outputs(reshape, (between,))
    graph.set_inputs(reshape, (source,))
    reshape.name, reshape.attrs = "RESHAPE", {"new_shape": shape}
    graph.set_outputs(transpose, (result,))
    graph.set_inputs(
        transpose, (between, constant(f"{result.name}/order", np.array(order, np.int32)))
    )
    return None
