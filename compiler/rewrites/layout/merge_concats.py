"""A concatenation of a concatenation becomes one.

t = CONCATENATION(a, b)   y = CONCATENATION(t, c)
becomes   y = CONCATENATION(a, b, c)
"""

from __future__ import annotations

from ...ir import Graph, Op
from ...ops.concat import concat_axis
from ..rewrite import Declined, rewrite


@rewrite("CONCATENATION", "CONCATENATION")
def merge_concats(graph: Graph, inner: Op, outer: Op) -> Declined | None:
    if concat_axis(inner) != concat_axis(outer):
        return Declined("they concatenate along different axes")
    place = outer.inputs.index(inner.output)
    before, after = outer.inputs[:place], outer.inputs[place + 1 :]
    if inner.output in after:
        return Declined("its result is taken more than once")
    graph.set_inputs(outer, (*before, *inner.inputs, *after))
    graph.remove(inner)
    return None
