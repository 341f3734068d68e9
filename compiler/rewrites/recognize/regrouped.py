"""Values that a norm has in another shape, or whose axes it has in another order.

    t = TRANSPOSE(whole[1,8,8,6]) perm=(0,3,1,2)   values = RESHAPE(t) new_shape=(1,3,2,64)

PyTorch's converter computes the statistics of groups of channels from such values, but applies
them to t, or to the whole once transposes have moved. The finest axes of both tell what belongs
together; those of sizes 3, 2, 8 and 8 here.
"""

from collections.abc import Iterator
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from ...ir import Graph, Op, Shape, Tensor, constant
from ...ops import RESHAPES
from ...ops.move.transpose import permutation
from ..layout.around_reshapes import Parts, common_axes


class Regrouped:
    """Values as they were before, and statistics of them that are reshaped to be applied there."""

    def __init__(self, values: Shape, own: Parts, whole: Tensor, axes: Parts, sizes: Shape) -> None:
        self.whole = whole  # The values before.
        self._values, self._own = values, own
        self._axes, self._sizes = axes, sizes
        self._reshaped: dict[tuple[Tensor, Shape], Tensor] = {}

    def fits(self, reshape: Op) -> bool:
        """Whether reshaped factors of the values are the same factors of the values before."""
        given, made = reshape.operand(0).shape, reshape.output.shape
        before = _spread(given, self._values, self._own)
        return before is not None and before == _spread(made, self.whole.shape, self._axes)

    def statistic(self, tensor: Tensor) -> Tensor:
        """What stands for a mean or a deviation that was reshaped."""
        return self._reshaped.setdefault((tensor, ()), Tensor(f"{tensor.name}/whole", ()))

    def factor(self, tensor: Tensor, reshape: Op) -> Tensor | None:
        """A constant factor of what is reshaped, afterwards; None for other tensors."""
        if tensor.data is None:
            return None
        given, made = reshape.operand(0).shape, reshape.output.shape
        data = np.broadcast_to(tensor.data, given).reshape(made)
        new = constant(f"{tensor.name}/whole", data)
        return self._reshaped.setdefault((tensor, made), new)

    def attrs(self, reduced: tuple[int, ...]) -> dict[str, Any]:
        """The axes that are averaged over, and the shape that they are those of, if another."""
        over = {part for axis in reduced for part in self._own[axis]}
        inside = [[part in over for part in parts] for parts in self._axes]
        if all(len(set(each)) <= 1 for each in inside):
            return {"axes": tuple(axis for axis, each in enumerate(inside) if any(each))}
        order = [part for parts in self._axes for part in parts]
        runs = [(along, list(parts)) for along, parts in groupby(order, over.__contains__)]
        axes = tuple(number for number, (along, _) in enumerate(runs) if along)
        return {"axes": axes, "shape": tuple(prod(self._sizes[p] for p in run) for _, run in runs)}


def regrouped(graph: Graph, values: Tensor) -> Iterator[Regrouped]:
    """What a tensor is before a reshape, and before a transpose that precedes it."""
    reshape = graph.producer(values)
    if reshape is None or reshape.name not in RESHAPES:
        return
    whole = reshape.operand(0)
    found = common_axes(whole.shape, values.shape)
    if found is None:
        return
    sizes, axes, own = found
    yield Regrouped(values.shape, own, whole, axes, sizes)
    transpose = graph.producer(whole)
    if transpose is not None and transpose.name == "TRANSPOSE":
        axes = [axes[axis] for axis in np.argsort(permutation(transpose))]
        yield Regrouped(values.shape, own, transpose.operand(0), axes, sizes)


def _spread(shape: Shape, whole: Shape, parts: Parts) -> list[int] | None:
    """The finest axes along which a tensor has several entries; None if it does not broadcast."""
    if len(shape) != len(whole) or any(
        size not in (1, full) for size, full in zip(shape, whole, strict=True)
    ):
        return None
    return [part for size, each in zip(shape, parts, strict=True) if size > 1 for part in each]
