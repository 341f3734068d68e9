"""A softmax spelled out in powers and their sum is recognized.

e = EXP(SUB(x, REDUCE_MAX(x)))   y = DIV(e, SUM(e))      with or without the maximum
becomes   y = SOFTMAX(x) beta=1.0 axis=3      the axis of the sum, whichever it is
"""

from __future__ import annotations

from ...ir import Graph, Op, Shape, Tensor
from ...ops.reduce import axes
from ..rewrite import Declined, rewrite
from .region import leading_to, needed_outside, remove_region


@rewrite("SUM", "DIV")
def recognize_softmax(graph: Graph, total: Op, quotient: Op) -> Declined | None:
    powers = total.operand(0)
    exponential = graph.producer(powers)
    if exponential is None or exponential.name != "EXP":
        return Declined("what is added up are no powers")
    if quotient.operand(0) is not powers or quotient.operand(1) is not total.output:
        return Declined("not the powers are divided by their sum")
    if len(axes(total)) != 1 or total.output.shape != _reduced(powers, axes(total)):
        return Declined("the sum is not over one axis, kept with size 1")
    values, shifting = _unshifted(graph, exponential.operand(0), axes(total))
    region = leading_to(graph, quotient, [exponential, total, quotient, *shifting])
    needed = needed_outside(graph, region, quotient)
    if needed is not None:
        return Declined(f"others need {needed.name}, too")
    attrs = {"beta": 1.0, "axis": axes(total)[0]}
    remove_region(graph, region)
    graph.add(Op("SOFTMAX", (values,), (quotient.output,), attrs, quotient.index))
    return None


def _reduced(tensor: Tensor, gone: tuple[int, ...]) -> Shape:
    """A shape with ones in place of axes."""
    return tuple(1 if axis in gone else size for axis, size in enumerate(tensor.shape))


def _unshifted(graph: Graph, exponent: Tensor, over: tuple[int, ...]) -> tuple[Tensor, list[Op]]:
    """What the exponent is without its maximum, and the operators that take that away."""
    shifted = graph.producer(exponent)
    if shifted is None or shifted.name != "SUB":
        return exponent, []
    most = graph.producer(shifted.operand(1))
    if most is None or most.name != "REDUCE_MAX" or most.operand(0) is not shifted.operand(0):
        return exponent, []
    if axes(most) != over or most.output.shape != _reduced(exponent, over):
        return exponent, []
    return shifted.operand(0), [shifted, most]
