"""Two transposes with a reshape between that cuts axes become one that moves all the parts.

    t = TRANSPOSE(x[54,3,2,2]) perm=(1,2,0,3)   r = RESHAPE(t) new_shape=(3,2,6,18)
    y = TRANSPOSE(r) perm=(2,1,3,0)
    becomes   c = RESHAPE(x) new_shape=(6,9,3,2,2)   m = TRANSPOSE(c) perm=(0,3,1,4,2)
    y = RESHAPE(m) new_shape=(6,2,18,3)

Converters write PyTorch's pixel shuffle this way, one axis at a time. `merge_around_reshape` does
with fewer axes what it can.

The axes are cut into the finest ones of two shapes of the same entries: [32,2,9216,2] and
[32,2,96,192] both consist of the axes 32, 2, 96, 96 and 2; [6,4] and [4,6] have none in common.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from operator import mul

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ops import RESHAPES
from ...ops.transpose import permutation
from ..rewrite import Declined, rewrite

Parts = list[list[int]]
"""For each axis of a shape the numbers of the finest axes that it consists of."""


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


def common_axes(before: Shape, after: Shape) -> tuple[Shape, Parts, Parts] | None:
    """The sizes of the finest axes, without ones, and which of them the axes of each shape are.

    Returns None if there are none, or an axis has size 0.
    """
    if 0 in before:
        return None
    ends = [list(accumulate(shape, mul, initial=1)) for shape in (before, after)]
    cuts = sorted({end for each in ends for end in each})
    if any(end % start for start, end in pairwise(cuts)):
        return None
    sizes = tuple(end // start for start, end in pairwise(cuts))
    place = {end: position for position, end in enumerate(cuts)}
    first, second = (
        [list(range(place[start], place[end])) for start, end in pairwise(each)] for each in ends
    )
    return sizes, first, second
