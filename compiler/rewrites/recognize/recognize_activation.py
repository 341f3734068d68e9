"""Activations written as arithmetic become single operators.

    y = MUL(x, MUL(RELU6(ADD(x, 3)), 0.16666667))   becomes   y = HARD_SWISH(x)

Expressions are not compared operator by operator. Everything that depends on x alone is expanded to
a polynomial in x and in functions of such polynomials, which is looked up in a table.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ...ir import Graph, Op, Tensor
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite
from .region import leading_to, remove_region, used_elsewhere

_SIZE = "ABS(1 x)"
_POWER = f"EXP(-1 {_SIZE} {_SIZE})"
_PART = f"RECIPROCAL(1 + 0.3276 {_SIZE})"
_SIGN = f"RECIPROCAL(1e-11 + 1 {_SIZE}) x"
_FACTORS = ("-0.2548", "0.2845", "-1.421", "1.453", "-1.061")
_DIFFERENCES = [
    " ".join((factor, _POWER, *number * [_PART], _SIGN))
    for number, factor in enumerate(_FACTORS, start=1)
]
# The error function by Abramowitz and Stegun's formula 7.1.26, accurate to 1.5e-7. onnx2tf writes
# it this way because LiteRT has no operator for it.
ERROR_FUNCTION = " + ".join((*reversed(_DIFFERENCES), f"1 {_SIGN}"))

# Operator and attributes by polynomial: its sorted terms, with coefficients to four digits.
ACTIVATIONS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "0.5 TANH(0.7979 x + 0.03568 x x x) x + 0.5 x": ("GELU", {"approximate": True}),
    "0.5 tflgpu.erf(0.7071 x) x + 0.5 x": ("GELU", {"approximate": False}),
    ERROR_FUNCTION: ("tflgpu.erf", {}),
    "0.1667 RELU6(3 + 1 x) x": ("HARD_SWISH", {}),
    "0.1667 MAXIMUM(1 MINIMUM(3 + 1 x, 6), 0) x": ("HARD_SWISH", {}),
    "0.1667 MINIMUM(1 MAXIMUM(3 + 1 x, 0), 6) x": ("HARD_SWISH", {}),
    "0.1667 MINIMUM(1 RELU(3 + 1 x), 6) x": ("HARD_SWISH", {}),
    "1 RELU_0_TO_1(0.5 + 0.1667 x) x": ("HARD_SWISH", {}),
    "1 LOGISTIC(1 x) x": ("tflgpu.silu", {}),
    "1 RECIPROCAL(1 + 1 EXP(-1 x)) x": ("tflgpu.silu", {}),
    "1 TANH(1 LOG(1 + 1 EXP(1 x))) x": ("tflgpu.mish", {}),
}

# Operators that are functions of one polynomial.
FUNCTIONS = frozenset(
    ["ABS", "EXP", "LOG", "LOGISTIC", "RELU", "RELU6", "RELU_0_TO_1", "TANH", "tflgpu.erf"]
)
# Operators that are functions of one polynomial and a number.
BOUNDS = frozenset(["MAXIMUM", "MINIMUM"])
LONGEST = 32  # Most operators that are expanded after a value.
MAX_TERMS = 8  # Most terms of a polynomial.

# Coefficients by monomial, which is the sorted texts of its factors.
Polynomial = dict[tuple[str, ...], float]


@graph_rewrite()
def recognize_activation(graph: Graph, target: Target) -> Attempts:
    """For every value that at least two operators read."""
    # In reverse, since an activation may contain another, which must be recognized first.
    for op in reversed(graph.ops):
        if op in graph:
            yield from _recognize(graph, op.output)
    for tensor in graph.inputs:
        yield from _recognize(graph, tensor)


def _recognize(graph: Graph, x: Tensor) -> Attempts:
    if x.dtype != "float32" or len(graph.consumers(x)) < 2:
        return
    known: dict[Tensor, Polynomial] = {x: {("x",): 1.0}}
    opened: list[Op] = []
    waiting = graph.consumers(x)
    while waiting and len(opened) < LONGEST:
        op = waiting.pop(0)
        polynomial = _polynomial(op, known) if op not in opened and op in graph else None
        if polynomial is None or op.output.shape != x.shape:
            continue
        opened.append(op)
        known[op.output] = polynomial
        waiting += graph.consumers(op.output)
        found = ACTIVATIONS.get(_text(polynomial))
        if found is None:
            continue
        region = leading_to(graph, op, opened)
        if (yield Attempt(region, used_elsewhere(graph, region, op))):
            name, attrs = found
            remove_region(graph, region)
            graph.add(Op(name, (x,), (op.output,), dict(attrs), op.index))


def _polynomial(op: Op, known: Mapping[Tensor, Polynomial]) -> Polynomial | None:
    """The polynomial an operator computes; None if it is unknown or an operand is."""
    operands = [_operand(tensor, known) for tensor in op.inputs if tensor is not None]
    if op.epilogue or any(operand is None for operand in operands):
        return None
    first, *rest = (operand for operand in operands if operand is not None)
    second = rest[0] if rest else {}
    number = second.get((), 0.0) if second.keys() <= {()} else None
    if op.name in FUNCTIONS:
        return {(f"{op.name}({_text(first)})",): 1.0}
    if op.name in BOUNDS and number is not None:
        return {(f"{op.name}({_text(first)}, {number:.4g})",): 1.0}
    if op.name == "POW" and number in (2, 3):
        return _product([first] * int(number))
    if op.name == "DIV" and number != 0:
        inverse: Polynomial = {(f"RECIPROCAL({_text(second)})",): 1.0}
        return _product([first, {(): 1 / number} if number else inverse])
    if op.name in ("ADD", "SUB"):
        sign = 1 if op.name == "ADD" else -1
        return _sum([*first.items(), *((factors, sign * c) for factors, c in second.items())])
    if op.name == "MUL":
        return _product([first, second])
    if op.name == "NEG":
        return {factors: -coefficient for factors, coefficient in first.items()}
    return _product([first, first]) if op.name == "SQUARE" else None


def _operand(tensor: Tensor, known: Mapping[Tensor, Polynomial]) -> Polynomial | None:
    if tensor.number is not None and tensor.dtype == "float32":
        return {(): tensor.number}
    return known.get(tensor)


def _sum(terms: Iterable[tuple[tuple[str, ...], float]]) -> Polynomial:
    total: Polynomial = {}
    for factors, coefficient in terms:
        total[factors] = total.get(factors, 0.0) + coefficient
    return total


def _product(polynomials: list[Polynomial]) -> Polynomial | None:
    product: Polynomial = {(): 1.0}
    for polynomial in polynomials:
        if len(product) * len(polynomial) > MAX_TERMS:
            return None
        product = _sum(
            (tuple(sorted((*left, *right))), a * b)
            for left, a in product.items()
            for right, b in polynomial.items()
        )
    return product


def _text(polynomial: Polynomial) -> str:
    """The text of a polynomial, equal for equal polynomials.

    >>> _text({("x",): 1.0, (): 3.0})
    '3 + 1 x'
    """
    terms = sorted((factors, c) for factors, c in polynomial.items() if c)
    return " + ".join(" ".join((f"{c:.4g}", *factors)) for factors, c in terms)
