"""A softmax spelled out in powers and their sum is recognised.

e = EXP(SUB(x, REDUCE_MAX(x)))   y = DIV(e, SUM(e))      with or without the maximum
becomes   y = SOFTMAX(x) beta=1.0
"""

from __future__ import annotations

from ..ir import Graph, Op, Tensor
from ..ops.reduce import axes
from .region import leading_to, needed_outside, remove_region
from .rewrite import Declined, rewrite


@rewrite("SUM", "DIV")
def recognise_softmax(graph: Graph, total: Op, quotient: Op) -> Declined | None:
    powers = total.operand(0)
    exponential = graph.producer(powers)
    if exponential is None or exponential.name != "EXP":
        return Declined("what is added up are no powers")
    if quotient.operand(0) is not powers or quotient.operand(1) is not total.output:
        return Declined("not the powers are divided by their sum")
    last = len(powers.shape) - 1
    if axes(total) != (last,) or total.output.shape != (*powers.shape[:-1], 1):
        return Declined("the sum is not over the last axis, kept with size 1")
    values, shifting = _unshifted(graph, exponential.operand(0), last)
    region = leading_to(graph, quotient, [exponential, total, quotient, *shifting])
    needed = needed_outside(graph, region, quotient)
    if needed is not None:
        return Declined(f"others need {needed.name}, too")
    remove_region(graph, region)
    op = Op("SOFTMAX", (values,), (quotient.output,), {"beta": 1.0}, quotient.index)
    graph.add(op)
    return None


def _unshifted(graph: Graph, exponent: Tensor, last: int) -> tuple[Tensor, list[Op]]:
    """What the exponent is without its maximum, and the operators that take that away."""
    shifted = graph.producer(exponent)
    if shifted is None or shifted.name != "SUB":
        return exponent, []
    most = graph.producer(shifted.operand(1))
    if most is None or most.name != "REDUCE_MAX" or most.operand(0) is not shifted.operand(0):
        return exponent, []
    if axes(most) != (last,) or most.output.shape != (*exponent.shape[:-1], 1):
        return exponent, []
    return shifted.operand(0), [shifted, most]
