"""Two transposes with a reshape between that cuts axes become one that moves all the parts.

    t = TRANSPOSE(x[54,3,2,2]) perm=(1,2,0,3)   r = RESHAPE(t) new_shape=(3,2,6,18)
    y = TRANSPOSE(r) perm=(2,1,3,0)
    becomes   c = RESHAPE(x) new_shape=(6,9,3,2,2)   m = TRANSPOSE(c) perm=(0,3,1,4,2)
    y = RESHAPE(m) new_shape=(6,2,18,3)

Converters write PyTorch's pixel shuffle this way, one axis at a time. `merge_around_reshape` does
with fewer axes what it can.
"""

from __future__ import annotations

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ops import RESHAPES
from ...ops.transpose import permutation
from ..rewrite import Declined, rewrite
from .common_axes import common_axes


@rewrite("TRANSPOSE", RESHAPES, "TRANSPOSE")
def cut_axes(graph: Graph, first: Op, reshape: Op, second: Op) -> Declined | None:
    if reshape.operand(0) is not first.output or second.operand(0) is not reshape.output:
        return Declined("a result is used as a permutation or a shape")
    found = common_axes(first.output.shape, reshape.output.shape)
    if found is None:
        return Declined("the reshape merges parts of different axes of the transpose before it")
    sizes, given, taken = found
    source, result = first.operand(0), second.output
    cut = [part for axis in np.argsort(permutation(first)) for part in given[axis]]
    moved = [part for axis in permutation(second) for part in taken[axis]]
    order = np.array([cut.index(part) for part in moved], np.int32)

    def of(parts: list[int], name: str) -> Tensor:
        shape = tuple(sizes[part] for part in parts)
        quantization = result.quantization
        return Tensor(f"{result.name}/{name}", shape, result.dtype, quantization=quantization)

    before, after = of(cut, "cut"), of(moved, "moved")
    _become(graph, first, "RESHAPE", (source,), before, new_shape=before.shape)
    _become(graph, reshape, "TRANSPOSE", (before, constant(f"{result.name}/order", order)), after)
    _become(graph, second, "RESHAPE", (after,), result, new_shape=result.shape)
    return None


def _become(
    graph: Graph, op: Op, name: str, inputs: tuple[Tensor, ...], output: Tensor, **attrs: Shape
) -> None:
    graph.set_outputs(op, (output,))
    graph.set_inputs(op, inputs)
    op.name, op.attrs = name, attrs
