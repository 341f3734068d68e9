"""Elementwise operators of one value."""

from collections.abc import Iterator
from typing import Any

from graphs import call, number, typed, x, xi

from tflgpu.compiler.ir import Shape

from .case import Case
from .spellings import error_function

# Attributes and the draw of the operand of each elementwise operator of one operand.
UNARY: dict[str, tuple[dict[str, Any], str]] = {
    "ABS": ({}, "normal"),
    "EXP": ({}, "normal"),
    "HARD_SWISH": ({}, "wide"),
    "LEAKY_RELU": ({"alpha": 0.3}, "normal"),
    "LOG": ({}, "positive"),
    "LOGISTIC": ({}, "wide"),
    "NEG": ({}, "normal"),
    "RELU": ({}, "normal"),
    "RELU6": ({}, "wide"),
    "RELU_0_TO_1": ({}, "normal"),
    "RELU_N1_TO_1": ({}, "normal"),
    "RSQRT": ({}, "positive"),
    "SQRT": ({}, "positive"),
    "SQUARE": ({}, "normal"),
    "TANH": ({}, "wide"),
}


def unary_operators() -> Iterator[Case]:
    for operator, (attrs, draw) in UNARY.items():
        for shape in ((2, 3, 5, 7), (37,)):
            value = call(operator, x(*shape, draw=draw), **attrs)
            yield Case(operator, f"{shape}", value)
    others: tuple[Shape, ...] = ((2, 5, 32), (2, 3, 2, 2, 5), ())
    for other in others:
        yield Case("ABS", f"{other}", call("ABS", x(*other)))
    yield Case("LEAKY_RELU", "without options", call("LEAKY_RELU", x(2, 5, 7)))
    tall = call("LEAKY_RELU", x(2, 5, 7), alpha=1.5)
    yield Case("LEAKY_RELU", "alpha above 1", tall)
    below = call("LEAKY_RELU", x(2, 5, 7), alpha=-0.5)
    yield Case("LEAKY_RELU", "alpha below 0", below)


def other_unary_operators() -> Iterator[Case]:
    for operator in ("CEIL", "COS", "ELU", "FLOOR", "GELU", "ROUND", "SIGN", "SIN"):
        for shape in ((2, 3, 5, 7), (2, 5, 32), (2, 3, 2, 2, 5), ()):
            draw = "with ties" if operator == "ROUND" else "normal"
            yield Case(operator, f"{shape}", call(operator, x(*shape, draw=draw)))
    yield Case("GELU", "approximate", call("GELU", x(3, 5, 7, draw="wide"), approximate=True))
    yield Case("GELU", "wide", call("GELU", x(3, 5, 7, draw="wide"), approximate=False))
    for operator in ("ABS", "NEG"):
        for dtype in ("int32", "int64"):
            if (operator, dtype) != ("ABS", "int64"):
                value = typed(dtype, operator, xi(3, 5, 7, dtype=dtype))
                yield Case(operator, dtype, value)
    yield Case("LOGICAL_NOT", "bool", typed("bool", "LOGICAL_NOT", xi(3, 5, 7, dtype="bool")))


def fake_quantization() -> Iterator[Case]:
    for low, high, bits in ((-1.0, 1.0, 8), (-0.3, 2.1, 8), (0.0, 6.0, 4), (-3.0, 0.0, 16)):
        value = call("FAKE_QUANT", x(3, 5, 7), min=low, max=high, num_bits=bits)
        yield Case("FAKE_QUANT", f"{low} to {high}, {bits} bits", value)
    value = call("FAKE_QUANT", call("NEG", x(5, 7, draw="special")), min=-1.0, max=1.0, num_bits=8)
    yield Case("FAKE_QUANT", "special values", value)


def error_functions() -> Iterator[Case]:
    """LiteRT has none; a GELU that is written with one is recognized."""
    for draw in ("normal", "wide"):
        value = call("FlexErf", x(3, 5, 7, draw=draw))
        yield Case("FlexErf", draw, value, oracle=error_function(x(3, 5, 7, draw=draw)))
    a = x(3, 5, 7)
    twice = call("ADD", call("FlexErf", call("MUL", a, number(0.5**0.5))), number(1))
    value = call("MUL", call("MUL", a, twice), number(0.5))
    yield Case("FlexErf", "of a GELU", value, oracle=call("GELU", a, approximate=False))


TABLES = (unary_operators, other_unary_operators, fake_quantization, error_functions)
