"""The mean of squared differences from a mean is one reduction, as norms are made of.

    d = SQUARED_DIFFERENCE(x, m)   v = MEAN(d)      with m of size 1 along the axes of the MEAN
    becomes   v = tflgpu.variance(x, m)

Values and sums stay exactly the same; the squares are no longer stored.
"""

from __future__ import annotations

from ..ir import Graph, Op
from ..ops.reduce import axes
from ..ops.variance import NAME
from .rewrite import Declined, rewrite


@rewrite("SQUARED_DIFFERENCE", "MEAN")
def merge_variance(graph: Graph, difference: Op, mean: Op) -> Declined | None:
    first, second = difference.operand(0), difference.operand(1)
    values, center = (first, second) if first.shape == difference.output.shape else (second, first)
    reduced = axes(mean)
    kept = tuple(1 if i in reduced else n for i, n in enumerate(values.shape))
    if values.constant or values.shape != difference.output.shape:
        return Declined("both operands broadcast, or the values are constants")
    if center.shape != kept or center.constant:
        return Declined(f"the other operand is not one mean for each result: {list(center.shape)}")
    if mean.output.shape != kept:
        return Declined("the reduced axes are dropped")
    if values.dtype != "float32":
        return Declined(f"the values are {values.dtype}")
    graph.set_inputs(mean, (values, center))
    mean.name = NAME
    mean.attrs = {"axes": reduced}
    graph.remove(difference)
    return None
