"""Layer, instance and RMS normalization written as arithmetic becomes tflgpu.normalization.

    m = MEAN(x)   v = MEAN(SQUARED_DIFFERENCE(x, m))   r = RSQRT(ADD(v, 1e-5))   g = MUL(r, gain)
    y = ADD(MUL(x, g), SUB(offset, MUL(m, g)))
    becomes   n = tflgpu.normalization(x) epsilon=1e-05   y = ADD(MUL(n, gain), offset)

Converters and authors write it in many ways, so expressions are not compared operator by operator.
Everything that depends on the mean m and the inverse deviation r is expanded to a sum of products,
which must be x r g - m r g plus terms without r. RMS normalization has no m. Gain g and offset, be
they constants or not, remain separate operators. Statistics may be those of x in another shape.
"""

from dataclasses import dataclass, replace
from typing import Any

from ...ir import Graph, Op, Tensor
from ...ops import RESHAPES
from ...ops.reduce.normalization import NAME
from ...ops.reduce.reduce import axes, kept_shape
from ...target import Target
from ..decompose.decomposition import Decomposition
from ..rewrite import Attempt, Attempts, also_used, graph_rewrite
from .region import leading_to, used_elsewhere
from .regrouped import Regrouped, regrouped

ARITHMETIC = frozenset(["ADD", "BROADCAST_TO", "DIV", "MUL", "NEG", "SUB"])
LONGEST = 16  # Most operators that are expanded after the mean and the deviation.
MAX_TERMS = 8  # Most terms of an expanded sum.
Term = tuple[int, tuple[Tensor, ...]]  # The sign of a product, and its factors.


@dataclass(frozen=True)
class Statistics:
    """The mean and the deviation of a tensor, and the operators that compute them."""

    values: Tensor  # The tensor that they are of.
    center: Tensor | None  # Its mean; None for RMS normalization.
    axes: tuple[int, ...]  # The axes that are averaged over.
    root: Tensor  # The deviation, or its inverse.
    inverse: bool
    epsilon: float  # The constant added to the variance.
    ops: frozenset[Op]  # The operators that compute mean and deviation.
    # The values in another shape, in which they are normalized; None if they are as they are.
    before: Regrouped | None = None

    @property
    def normalized(self) -> Tensor:
        """The tensor that is normalized."""
        return self.before.whole if self.before else self.values

    @property
    def attrs(self) -> dict[str, Any]:
        """Those of the operator that normalizes."""
        along = self.before.attrs(self.axes) if self.before else {"axes": self.axes}
        return {**along, "epsilon": self.epsilon, "centered": self.center is not None}

    def seen(self, tensor: Tensor) -> Tensor:
        """The mean or the deviation as it is applied to what is normalized."""
        return self.before.statistic(tensor) if self.before else tensor


@dataclass(frozen=True)
class Form:
    gain: tuple[Tensor, ...]  # Factors of the normalized values.
    rest: tuple[Term, ...]  # Terms added to them.


@dataclass(frozen=True)
class Normalization:
    last: Op  # The operator that computes the result.
    form: Form
    statistics: Statistics


@graph_rewrite()
def recognize_normalization(graph: Graph, target: Target) -> Attempts:
    """For every mean of squares."""
    for op in graph.ops:
        squared = _squared(graph, op) if op in graph and op.name == "MEAN" else None
        if squared is None:
            continue
        found = _recognize(graph, op, *squared)
        if isinstance(found, Attempt):
            yield found
            continue
        yield Attempt((op, found.last))
        here = Decomposition(graph, found.last, target)
        here.apply(_build(here, found.form, found.statistics))


def _squared(graph: Graph, mean: Op) -> tuple[Tensor, Tensor | None, set[Op]] | None:
    """The values whose squares, or squared distances from a center, a MEAN averages.

    Returns values, center and the operators that square; None if it averages something else.
    """
    square = graph.producer(mean.operand(0))
    if square is None or square.output.dtype != "float32":
        return None
    if square.name == "SQUARED_DIFFERENCE":
        first, second = square.operand(0), square.operand(1)
        pair = (first, second) if first.shape == square.output.shape else (second, first)
        return (*pair, {square})
    if square.name == "SQUARE" or (square.name == "MUL" and square.operand(0) is square.operand(1)):
        values = square.operand(0)
        difference = graph.producer(values)
        if difference is not None and difference.name == "SUB":
            center = graph.producer(difference.operand(1))
            if center is not None and center.name == "MEAN":
                return difference.operand(0), difference.operand(1), {square, difference}
        return values, None, {square}
    return None


def _recognize(
    graph: Graph, variance: Op, values: Tensor, center: Tensor | None, squares: set[Op]
) -> Normalization | Attempt:
    """The normalization that uses a variance, or the attempt that says why there is none."""
    statistics = _statistics(graph, variance, values, center, squares)
    if isinstance(statistics, str):
        return Attempt((variance,), statistics)
    for before in (None, *regrouped(graph, values)):
        found = _applied(graph, variance, replace(statistics, before=before))
        if found is not None:
            return found
    reason = "the values minus their mean are not divided by the deviation afterwards"
    return Attempt((variance,), reason)


def _applied(graph: Graph, variance: Op, statistics: Statistics) -> Normalization | Attempt | None:
    """The first operator in order of execution that applies statistics; None if there is none."""
    opened: set[Op] = set()
    waiting = graph.consumers(statistics.root)
    waiting += graph.consumers(statistics.center) if statistics.center is not None else []
    while waiting and len(opened) < LONGEST:
        op = min(waiting, key=lambda each: each.index)
        waiting.remove(op)
        if not _opens(op, statistics):
            continue
        opened.add(op)
        if op.output.shape == statistics.normalized.shape:
            terms = _terms(graph, op.output, opened, statistics)
            form = _form(terms, statistics)
            if form is not None:
                region = leading_to(graph, op, opened | statistics.ops)
                reason = used_elsewhere(graph, region, op) or _read_again(graph, form, region)
                found = Normalization(op, form, statistics)
                return found if reason is None else Attempt((variance, op), reason)
        waiting += graph.consumers(op.output)
    return None


def _statistics(
    graph: Graph, variance: Op, values: Tensor, center: Tensor | None, squares: set[Op]
) -> Statistics | str:
    """The statistics that a variance belongs to, or why it belongs to none."""
    reduced = axes(variance)
    kept = kept_shape(variance)
    ops = {variance, *squares}
    if values.constant or values.shape != variance.operand(0).shape:
        return "the values are a constant, or they broadcast"
    if variance.output.shape != kept:
        return "the variance does not keep the reduced axes"
    if center is not None:
        mean = graph.producer(center)
        if mean is None or mean.name != "MEAN" or mean.operand(0) is not values:
            return "the squared distances are not from the mean"
        if axes(mean) != reduced or center.shape != kept:
            return "mean and variance are over different axes"
        ops.add(mean)
    step = graph.only_reader(variance.output)
    epsilon = 0.0
    if step is not None and step.name == "ADD":
        other = step.operand(1 if step.operand(0) is variance.output else 0)
        if other.number is None:
            return "the epsilon added to the variance is not a scalar constant"
        epsilon = float(other.number)
        ops.add(step)
        step = graph.only_reader(step.output)
    if step is None or step.output.shape != kept or not _takes_root(step):
        return "no square root is taken of the variance"
    ops.add(step)
    inverse = step.name != "SQRT"
    return Statistics(values, center, reduced, step.output, inverse, epsilon, frozenset(ops))


def _takes_root(op: Op) -> bool:
    if op.name == "POW":
        power = op.operand(1).data
        return power is not None and bool((power == -0.5).all())
    return op.name in ("RSQRT", "SQRT")


def _opens(op: Op, statistics: Statistics) -> bool:
    """Whether an operator is expanded."""
    root = statistics.root
    divides = op.name == "DIV"
    if op.name in RESHAPES:
        return statistics.before is not None and statistics.before.fits(op)
    if op.name not in ARITHMETIC or op.epilogue:
        return False
    if divides:
        return op.operand(1) is root and not statistics.inverse
    return statistics.inverse or all(tensor is not root for tensor in op.inputs)


def _terms(graph: Graph, tensor: Tensor, opened: set[Op], statistics: Statistics) -> list[Term]:
    """A tensor as a sum of products, expanding the operators in `opened`."""
    op = graph.producer(tensor)
    if tensor.number in (-1, 0, 1):
        sign = int(tensor.number)
        return [(sign, ())] * abs(sign)
    if op is None or op not in opened:
        return [(1, (tensor,))]
    first = _terms(graph, op.operand(0), opened, statistics)
    if op.name in RESHAPES:
        return _reshaped(first, op, statistics)
    if op.name == "BROADCAST_TO":
        return first
    if op.name == "NEG":
        return [(-sign, factors) for sign, factors in first]
    second = _terms(graph, op.operand(1), opened, statistics)
    if op.name == "ADD":
        return first + second
    if op.name == "SUB":
        return first + [(-sign, factors) for sign, factors in second]
    if len(first) * len(second) > MAX_TERMS:
        return [(1, (tensor,))]
    return [(a * b, (*left, *right)) for a, left in first for b, right in second]


def _reshaped(terms: list[Term], reshape: Op, statistics: Statistics) -> list[Term]:
    """A sum that a reshape lets apply to the values as they are normalized."""
    before = statistics.before
    assert before is not None
    result = []
    for sign, factors in terms:
        seen = [
            before.statistic(each)
            if each in (statistics.root, statistics.center)
            else before.factor(each, reshape)
            for each in factors
        ]
        kept = tuple(each for each in seen if each is not None)
        if len(kept) < len(seen):
            return [(1, (reshape.output,))]
        result.append((sign, kept))
    return result


def _form(terms: list[Term], statistics: Statistics) -> Form | None:
    """A sum as a normalization; None if it is not one."""
    root, values, center = (
        statistics.seen(statistics.root),
        statistics.normalized,
        statistics.center,
    )
    scaled = [term for term in terms if root in term[1]]
    rest = tuple(term for term in terms if root not in term[1])
    wanted = [(1, values)] if center is None else [(1, values), (-1, statistics.seen(center))]
    gains = []
    for sign, subject in wanted:
        found = [term for term in scaled if subject in term[1]]
        if len(found) != 1 or found[0][0] != sign:
            return None
        gains.append(_without(found[0][1], subject, root))
    same = len({tuple(sorted(map(id, gain))) for gain in gains}) == 1
    if not same or len(scaled) != len(wanted) or not all(factors for _, factors in rest):
        return None
    return Form(gains[0], rest)


def _read_again(graph: Graph, form: Form, region: list[Op]) -> str | None:
    """Whether a result inside the region is also a factor or summand of the normalized values."""
    factors = (*form.gain, *(tensor for _, product in form.rest for tensor in product))
    return next((also_used(tensor) for tensor in factors if graph.producer(tensor) in region), None)


def _without(factors: tuple[Tensor, ...], *taken: Tensor) -> tuple[Tensor, ...]:
    left = list(factors)
    for tensor in taken:
        left.remove(tensor)
    return tuple(left)


def _build(here: Decomposition, form: Form, statistics: Statistics) -> Tensor:
    value = here.add(NAME, statistics.normalized, **statistics.attrs)
    for factor in form.gain:
        value = here.add("MUL", value, factor)
    for sign, (first, *factors) in form.rest:
        for factor in factors:
            first = here.add("MUL", first, factor)
        value = here.add("ADD" if sign > 0 else "SUB", value, first)
    return value
