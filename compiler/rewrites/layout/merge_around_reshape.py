"""Transposes before and after a reshape become one.

    t = TRANSPOSE(x[1,5,7,6]) perm=(0,3,1,2)   r = RESHAPE(t) new_shape=(1,2,3,5,7)
    y = TRANSPOSE(r) perm=(0,2,1,3,4)
    becomes   r = RESHAPE(x) new_shape=(1,5,7,2,3)   y = TRANSPOSE(r) perm=(0,4,3,1,2)

Either the first one moves after the reshape, as here, or the second one moves before it. Converters
write channel shuffles and attention heads this way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ops import RESHAPES
from ...ops.transpose import permutation
from ..rewrite import Declined, rewrite
from .reshape_first import reshape_first


@rewrite("TRANSPOSE", RESHAPES, "TRANSPOSE")
def merge_around_reshape(graph: Graph, first: Op, reshape: Op, second: Op) -> Declined | None:
    if reshape.operand(0) is not first.output or second.operand(0) is not reshape.output:
        return Declined("a result is used as a permutation or a shape")
    source, result = first.operand(0), second.output
    order, later = permutation(first), permutation(second)
    if found := reshape_first(source.shape, order, reshape.output.shape):
        shape, back = found
        between = _between(result, shape)
        graph.set_inputs(second, (between, _order(result, [back[axis] for axis in later])))
        _reshape(graph, reshape, source, between)
        graph.remove(first)
        return None
    # Otherwise move the second transpose. Seen backwards, from `result` to `first.output`, it is
    # again a transpose followed by a reshape.
    found = reshape_first(result.shape, np.argsort(later).tolist(), first.output.shape)
    if found is None:
        return Declined("the reshape merges axes that are adjacent only between the transposes")
    shape, back = found
    between = _between(result, shape)
    graph.set_outputs(first, (between,))
    graph.set_inputs(first, (source, _order(result, [order[axis] for axis in np.argsort(back)])))
    graph.remove(second)
    _reshape(graph, reshape, between, result)
    return None


def _between(result: Tensor, shape: Shape) -> Tensor:
    return Tensor(f"{result.name}/between", shape, result.dtype, quantization=result.quantization)


def _order(result: Tensor, order: Sequence[int]) -> Tensor:
    return constant(f"{result.name}/order", np.array(order, np.int32))


def _reshape(graph: Graph, op: Op, source: Tensor, result: Tensor) -> None:
    """Make an operator a RESHAPE from `source` to `result`."""
    graph.set_outputs(op, (result,))
    graph.set_inputs(op, (source,))
    op.name, op.attrs = "RESHAPE", {"new_shape": result.shape}
