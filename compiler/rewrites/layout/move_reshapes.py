"""A reshape behind a transpose goes in front of it, so that transposes meet.

    t = TRANSPOSE(x[1,5,7,3]) perm=(0,3,1,2)   y = RESHAPE(t) new_shape=(1,3,35)
    becomes   r = RESHAPE(x) new_shape=(1,35,3)   y = TRANSPOSE(r) perm=(0,2,1)

Networks made for channels first flatten the pixels of their pictures like that, before they bring
the channels to the end again. What is in front of a transpose is a picture of channels last, of
which such a reshape is a view.
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op, Tensor, constant
from ...ops import RESHAPES
from ...ops.transpose import permutation
from ..rewrite import Declined, rewrite
from .reshape_first import reshape_first


@rewrite("TRANSPOSE", RESHAPES)
def move_reshapes(graph: Graph, turn: Op, flat: Op) -> Declined | None:
    source, result = turn.operand(0), flat.output
    if flat.operand(0) is not turn.output:
        return Declined("the transpose's result is the reshape's shape")
    if len(result.shape) > len(source.shape):
        return Declined("the reshape splits axes")
    found = reshape_first(source.shape, permutation(turn), result.shape)
    if found is None:
        return Declined("it merges axes that are not neighbours in front of the transpose")
    shape, order = found
    between = Tensor(f"{result.name}/first", shape, result.dtype, quantization=result.quantization)
    graph.set_outputs(flat, (between,))
    graph.set_inputs(flat, (source,))
    flat.name, flat.attrs = "RESHAPE", {"new_shape": shape}
    graph.set_outputs(turn, (result,))
    graph.set_inputs(turn, (between, constant(f"{result.name}/order", np.array(order, np.int32))))
    return None
