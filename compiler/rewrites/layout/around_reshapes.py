"""Transposes beside a reshape: moved past it, so that they become one.

    t = TRANSPOSE(x[1,5,7,3]) perm=(0,3,1,2)   y = RESHAPE(t) new_shape=(1,3,35)
    is   r = RESHAPE(x) new_shape=(1,35,3)   y = TRANSPOSE(r) perm=(0,2,1)

It is possible if the axes that the reshape merges are also adjacent, in the same order, before the
transpose. Axes of size 1 may be anywhere; those of the result stay in place.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import prod
from operator import mul

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ops import RESHAPES
from ...ops.move.transpose import permutation
from ..rewrite import rewrite


@rewrite("TRANSPOSE", RESHAPES)
def move_reshapes(graph: Graph, transpose: Op, reshape: Op) -> str | None:
    """A reshape after a transpose moves before it, so that transposes become adjacent.

        t = TRANSPOSE(x[1,5,7,3]) perm=(0,3,1,2)   y = RESHAPE(t) new_shape=(1,3,35)
        becomes   r = RESHAPE(x) new_shape=(1,35,3)   y = TRANSPOSE(r) perm=(0,2,1)

    Networks converted from channels-first frameworks flatten the pixels this way before they move
    the channels back to the end. On the channels-last feature map before the transpose, the reshape
    is a view.
    """
    source, result = transpose.operand(0), reshape.output
    if reshape.operand(0) is not transpose.output:
        return "the result of the transpose is used as a shape"
    if len(result.shape) > len(source.shape):
        return "the reshape splits axes"
    found = reshape_first(source.shape, permutation(transpose), result.shape)
    if found is None:
        return "the reshape merges axes that are not adjacent before the transpose"
    shape, order = found
    between = _part(result, "first", shape)
    _reshape(graph, reshape, source, between)
    _transpose(graph, transpose, between, order, result, result)
    return None


@rewrite("TRANSPOSE", RESHAPES, "TRANSPOSE")
def merge_around_reshape(graph: Graph, first: Op, reshape: Op, second: Op) -> str | None:
    """Transposes before and after a reshape become one.

        t = TRANSPOSE(x[1,5,7,6]) perm=(0,3,1,2)   r = RESHAPE(t) new_shape=(1,2,3,5,7)
        y = TRANSPOSE(r) perm=(0,2,1,3,4)
        becomes   r = RESHAPE(x) new_shape=(1,5,7,2,3)   y = TRANSPOSE(r) perm=(0,4,3,1,2)

    Either the first one moves after the reshape, as here, or the second one moves before it.
    Converters write channel shuffles and attention heads this way.
    """
    if reshape.operand(0) is not first.output or second.operand(0) is not reshape.output:
        return "a result is used as a permutation or a shape"
    source, result = first.operand(0), second.output
    order, later = permutation(first), permutation(second)
    if found := reshape_first(source.shape, order, reshape.output.shape):
        shape, back = found
        between = _part(result, "between", shape)
        _transpose(graph, second, between, [back[axis] for axis in later], result, result)
        _reshape(graph, reshape, source, between)
        graph.remove(first)
        return None
    # Otherwise move the second transpose. Seen backwards, from `result` to `first.output`, it is
    # again a transpose followed by a reshape.
    found = reshape_first(result.shape, np.argsort(later).tolist(), first.output.shape)
    if found is None:
        return "the reshape merges axes that are adjacent only between the transposes"
    shape, back = found
    between = _part(result, "between", shape)
    turned = [order[axis] for axis in np.argsort(back)]
    _transpose(graph, first, source, turned, between, result)
    graph.remove(second)
    _reshape(graph, reshape, between, result)
    return None


def _part(result: Tensor, name: str, shape: Shape) -> Tensor:
    """A tensor of another shape on the way to a result."""
    return Tensor(f"{result.name}/{name}", shape, result.dtype, quantization=result.quantization)


def _transpose(
    graph: Graph, op: Op, source: Tensor, order: Sequence[int], result: Tensor, last: Tensor
) -> None:
    """Make an operator a TRANSPOSE from `source` to `result`, on the way to `last`."""
    graph.set_outputs(op, (result,))
    graph.set_inputs(op, (source, constant(f"{last.name}/order", np.array(order, np.int32))))
    op.name, op.attrs = "TRANSPOSE", {}


def _reshape(graph: Graph, op: Op, source: Tensor, result: Tensor) -> None:
    """Make an operator a RESHAPE from `source` to `result`."""
    graph.set_outputs(op, (result,))
    graph.set_inputs(op, (source,))
    op.name, op.attrs = "RESHAPE", {"new_shape": result.shape}


# For each axis of a shape the numbers of the finest axes that it consists of.
Parts = list[list[int]]


@rewrite("TRANSPOSE", RESHAPES, "TRANSPOSE")
def cut_axes(graph: Graph, first: Op, reshape: Op, second: Op) -> str | None:
    """Two transposes with a reshape between that cuts axes become one that moves all the parts.

        t = TRANSPOSE(x[54,3,2,2]) perm=(1,2,0,3)   r = RESHAPE(t) new_shape=(3,2,6,18)
        y = TRANSPOSE(r) perm=(2,1,3,0)
        becomes   c = RESHAPE(x) new_shape=(6,9,3,2,2)   m = TRANSPOSE(c) perm=(0,3,1,4,2)
        y = RESHAPE(m) new_shape=(6,2,18,3)

    Converters write PyTorch's pixel shuffle this way, one axis at a time. `merge_around_reshape`
    does with fewer axes what it can.

    The axes are cut into the finest ones of two shapes of the same entries: [32,2,9216,2] and
    [32,2,96,192] both consist of the axes 32, 2, 96, 96 and 2; [6,4] and [4,6] have none in common.
    """
    if reshape.operand(0) is not first.output or second.operand(0) is not reshape.output:
        return "a result is used as a permutation or a shape"
    found = common_axes(first.output.shape, reshape.output.shape)
    if found is None:
        return "the reshape merges parts of different axes of the transpose before it"
    sizes, given, taken = found
    source, result = first.operand(0), second.output
    cut = [part for axis in np.argsort(permutation(first)) for part in given[axis]]
    moved = [part for axis in permutation(second) for part in taken[axis]]
    before, after = (
        _part(result, name, tuple(sizes[part] for part in parts))
        for name, parts in (("cut", cut), ("moved", moved))
    )
    _reshape(graph, first, source, before)
    _transpose(graph, reshape, before, [cut.index(part) for part in moved], after, result)
    _reshape(graph, second, after, result)
    return None


def common_axes(before: Shape, after: Shape) -> tuple[Shape, Parts, Parts] | None:
    """The finest axes' sizes without ones, and which are each shape's; None if none, or empty."""
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


Block = tuple[list[int], list[int]]  # Axes before and after a reshape that span the same entries.


def reshape_first(source: Shape, order: Sequence[int], result: Shape) -> tuple[Shape, Shape] | None:
    """The shape to reshape `source` to, and the permutation that then gives `result`.

    `source` is the shape before a transpose by `order`, `result` the shape after the reshape.
    Returns None if the two cannot be swapped.
    """
    middle = tuple(source[axis] for axis in order)
    if 0 in middle or prod(middle) == 1:
        return None
    several = [axis for axis, size in enumerate(source) if size > 1]
    moved = []
    for before, after in _blocks(middle, result):
        places = [several.index(order[axis]) for axis in before]
        if places != list(range(places[0], places[0] + len(places))):
            return None
        moved.append((places[0], after))
    others = (axis for _, after in sorted(moved) for axis in after)
    axes = [axis if size == 1 else next(others) for axis, size in enumerate(result)]
    back = tuple(axes.index(axis) for axis in range(len(result)))
    return tuple(result[axis] for axis in axes), back


def _blocks(before: Shape, after: Shape) -> list[Block]:
    """The smallest blocks of axes that a reshape maps to each other, in order, without ones."""
    waiting = [axis for axis, size in enumerate(before) if size > 1]
    blocks: list[Block] = []
    taken = given = 1
    for axis, size in enumerate(after):
        if size == 1:
            continue
        if taken == given:
            blocks.append(([], []))
        blocks[-1][1].append(axis)
        given *= size
        while taken < given:
            blocks[-1][0].append(waiting.pop(0))
            taken *= before[blocks[-1][0][-1]]
    return blocks
