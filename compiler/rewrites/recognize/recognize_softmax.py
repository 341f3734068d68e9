"""A softmax written as exponentials and their sum becomes SOFTMAX.

e = EXP(SUB(x, REDUCE_MAX(x)))   y = DIV(e, SUM(e))      with or without the maximum
becomes   y = SOFTMAX(x) beta=1.0 axis=3                 where axis is that of the sum
"""

from ...ir import Graph, Op, Tensor
from ...ops.reduce.reduce import axes, kept_shape
from ..rewrite import rewrite
from .region import leading_to, remove_region, used_elsewhere

LONG_LINE = 1024
# With 64 lines of 3137 elements in rows of 8, the four steps take a quarter of the time.
FEW_LINES = 256


@rewrite("SUM", "DIV")
def recognize_softmax(graph: Graph, total: Op, quotient: Op) -> str | None:
    powers = total.operand(0)
    exponential = graph.producer(powers)
    if exponential is None or exponential.name != "EXP":
        return "the sum is not of exponentials"
    if quotient.operand(0) is not powers or quotient.operand(1) is not total.output:
        return "the exponentials are not divided by their sum"
    if len(axes(total)) != 1 or total.output.shape != kept_shape(total):
        return "the sum is not over a single axis, or does not keep it"
    if _few_long_lines(powers, axes(total)[0]):
        return "its few long lines across rows keep a device less busy than the steps"
    values, shifting = _unshifted(graph, exponential.operand(0), axes(total))
    region = leading_to(graph, quotient, [exponential, total, quotient, *shifting])
    if reason := used_elsewhere(graph, region, quotient):
        return reason
    attrs = {"beta": 1.0, "axis": axes(total)[0]}
    remove_region(graph, region)
    graph.add(Op("SOFTMAX", (values,), (quotient.output,), attrs, quotient.index))
    return None


def _few_long_lines(tensor: Tensor, axis: int) -> bool:
    """Whether a kernel of a work-item a line would take long, as with linear attention."""
    length = tensor.shape[axis]
    across = axis < len(tensor.shape) - 1
    return across and length >= LONG_LINE and tensor.elements // length < FEW_LINES


def _unshifted(graph: Graph, exponent: Tensor, over: tuple[int, ...]) -> tuple[Tensor, list[Op]]:
    """The exponent before its maximum is subtracted, and the operators that subtract it."""
    shifted = graph.producer(exponent)
    if shifted is None or shifted.name != "SUB":
        return exponent, []
    most = graph.producer(shifted.operand(1))
    if most is None or most.name != "REDUCE_MAX" or most.operand(0) is not shifted.operand(0):
        return exponent, []
    if axes(most) != over or most.output.shape != kept_shape(most):
        return exponent, []
    return shifted.operand(0), [shifted, most]
