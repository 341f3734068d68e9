"""Elementwise operators of two values: every activation, every way to broadcast."""

from collections.abc import Iterator

from graphs import call, w, x

from tflgpu.compiler.ir import Shape

from .case import ACTIVATIONS, Case

BINARY = ("ADD", "DIV", "MAXIMUM", "MINIMUM", "MUL", "SQUARED_DIFFERENCE", "SUB")

FUSING = ("ADD", "DIV", "MUL", "SUB")  # Binary operators with a fused activation in their options.

# Pairs of shapes of the operands of a binary operator.
BROADCASTS: tuple[tuple[Shape, Shape], ...] = (
    ((2, 3, 5, 19), (2, 3, 5, 19)),
    ((2, 3, 5, 19), (19,)),
    ((2, 3, 5, 19), (2, 1, 1, 19)),
    ((2, 3, 5, 19), (3, 5, 1)),
    ((2, 1, 5, 1), (1, 3, 1, 7)),
    ((2, 3, 5, 19), ()),
    ((2, 3, 5, 19), (1,)),
    ((2, 3, 5, 19), (1, 3, 5, 19)),
    ((2, 3, 5, 19), (2, 1, 5, 19)),
    ((2, 3, 5, 19), (2, 3, 1, 19)),
    ((2, 3, 5, 19), (2, 3, 5, 1)),
    ((2, 3, 5, 19), (5, 19)),
    ((5, 1), (2, 3, 1, 17)),
    ((37,), (37,)),
    ((1,), (37,)),
    ((11, 16), (16,)),
    ((5, 7, 3), (7, 1)),
)

# So many of them are tried with every operator; which one it is matters little to the rest.
FIRST_BROADCASTS = 5


def binary_operators() -> Iterator[Case]:
    for operator in BINARY:
        draw = "away from zero" if operator == "DIV" else "normal"
        broadcasts = BROADCASTS if operator == "SUB" else BROADCASTS[:FIRST_BROADCASTS]
        for first, second in broadcasts:
            computed = call(operator, x(*first), x(*second, draw=draw))
            yield Case(operator, f"{first} and {second}", computed)
            constant = call(operator, x(*first), w(*second, draw=draw))
            yield Case(operator, f"{first} and constant {second}", constant)
            swapped = call(operator, w(*first), x(*second, draw=draw))
            yield Case(operator, f"constant {first} and {second}", swapped)
            if first != second:
                turned = call(operator, x(*second), x(*first, draw=draw))
                yield Case(operator, f"{second} and {first}", turned)
        both = call("ADD", call(operator, w(3, 1), w(5, draw=draw)), x(2, 3, 5))
        yield Case(operator, "both constant", both)
        itself = x(2, 3, 5, 7, draw=draw)
        yield Case(operator, "of one value", call(operator, itself, itself))
    for operator in FUSING:
        draw = "away from zero" if operator == "DIV" else "normal"
        for activation in ACTIVATIONS:
            attrs = {"fused_activation_function": activation}
            value = call(operator, x(2, 3, 5, 7), x(7, draw=draw), **attrs)
            yield Case(operator, f"with {activation}", value)
    for first, second in (((2, 3, 2, 3, 5), (5,)), ((2, 3, 2, 3, 5), (2, 1, 2, 1, 5))):
        for operator in ("ADD", "MUL", "SUB"):
            value = call(operator, x(*first), x(*second))
            yield Case(operator, f"rank 5 {first} and {second}", value)
    for shape, alpha in (
        ((2, 3, 5, 19), (1, 1, 19)),
        ((2, 3, 5, 19), (3, 5, 19)),
        ((2, 3, 5, 19), (1, 1, 1)),
        ((2, 3, 5, 16), (3, 1, 16)),
        ((5, 7), (7,)),
    ):
        yield Case("PRELU", f"{shape} alpha {alpha}", call("PRELU", x(*shape), w(*alpha)))
    yield Case("PRELU", "computed alpha", call("PRELU", x(2, 3, 5, 7), x(1, 1, 7)))


TABLES = (binary_operators,)
