"""Operators of one or two quantized values, element by element."""

from collections.abc import Sequence
from math import prod

import numpy as np
from graphs import Call, Constant, Input, Value, known, typed
from hypothesis.strategies import DrawFn

from ..draws import ACTIVATIONS, SLICED, Generator, flag, one_in, pair, pick, shape
from .draws import ALL, EIGHT_BITS, Kind, either, integers, kind, result, scale, source

COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")

# Operators whose result may have any scale, and the types LiteRT takes.
UNARY: dict[str, Sequence[str]] = {
    "ABS": ("int8", "int16"),
    "ELU": ("int8",),
    "EXP": ("int8", "int16"),
    "GELU": ALL,
    "HARD_SWISH": EIGHT_BITS,
    "LEAKY_RELU": ALL,
    "LOG": ("int8", "int16"),
    "RELU": ALL,
    "RELU6": ALL,
    "RELU_0_TO_1": EIGHT_BITS,
    "RELU_N1_TO_1": EIGHT_BITS,
    "RSQRT": ("int8",),
}

# Scale and zero point of results that LiteRT takes no other ones of.
FIXED = {
    ("LOGISTIC", "int8"): (1 / 256, -128),
    ("LOGISTIC", "uint8"): (1 / 256, 0),
    ("LOGISTIC", "int16"): (2.0**-15, 0),
    ("TANH", "int8"): (1 / 128, 0),
    ("TANH", "uint8"): (1 / 128, 128),
    ("TANH", "int16"): (2.0**-15, 0),
}

# Types of an operand and a result of QUANTIZE where one has 32 bits.
WIDE_PAIRS = (("int32", "int8"), ("int32", "int16"), ("int16", "int32"))


def unary(draw: DrawFn) -> Call:
    name = pick(draw, tuple(UNARY))
    how = kind(draw, pick(draw, UNARY[name]))
    if name == "RSQRT":
        how = Kind(how.dtype, how.scale, -128)
    middle = {"EXP": 1.0, "RSQRT": 1.0}.get(name, how.scale)
    given = kind(draw, how.dtype, middle, 3.0)
    attrs = {"alpha": scale(draw, 0.2) * (-1 if one_in(draw, 5) else 1)}
    operand = source(shape(draw, SLICED), how)
    return result(name, operand, how=given, **(attrs if name == "LEAKY_RELU" else {}))


def bounded(draw: DrawFn) -> Call:
    name, dtype = pick(draw, tuple(FIXED))
    how = kind(draw, dtype, 0.0005 if dtype == "int16" else 0.05, 5.0)
    return result(name, source(shape(draw, SLICED), how), how=Kind(dtype, *FIXED[name, dtype]))


def quantize(draw: DrawFn) -> Call:
    """Between any two types that LiteRT takes."""
    sizes = shape(draw, SLICED)
    if one_in(draw, 6):
        source_type, dtype = pick(draw, WIDE_PAIRS)
        how = kind(draw, source_type)
        return result("QUANTIZE", source(sizes, how), how=kind(draw, dtype, how.scale, 12.0))
    given = kind(draw, pick(draw, ALL))
    if one_in(draw, 3):
        return result("QUANTIZE", Input(sizes, pick(draw, ("normal", "wide"))), how=given)
    how = kind(draw, pick(draw, ALL), given.scale)
    return result("QUANTIZE", source(sizes, how), how=given)


def dequantize(draw: DrawFn) -> Call:
    return typed("float32", "DEQUANTIZE", source(shape(draw, SLICED), kind(draw, pick(draw, ALL))))


def _operands(draw: DrawFn, dtype: str) -> tuple[Value, Value, Kind, Kind]:
    first = kind(draw, dtype)
    second = kind(draw, dtype, first.scale)
    shapes = pair(draw, SLICED)
    operands: list[Value] = [source(shapes[0], first), either(draw, shapes[1], second)]
    if prod(shapes[1]) == 1 and len(shapes[1]) > len(shapes[0]):
        # XNNPACK drops the dimensions of such a constant, so that shapes are not the file's.
        operands[1] = source(shapes[1], second)
    if isinstance(operands[1], Constant) and flag(draw):
        operands.reverse()
        return operands[0], operands[1], second, first
    return operands[0], operands[1], first, second


def _sum(name: str) -> Generator:
    def generate(draw: DrawFn) -> Call:
        dtype = pick(draw, ALL)
        a, b, first, second = _operands(draw, dtype)
        given = kind(draw, dtype, max(first.scale, second.scale), 2.0)
        activation = pick(draw, ACTIVATIONS)
        attrs = {"fused_activation_function": activation, "pot_scale_int16": False}
        return result(name, a, b, how=given, **attrs)

    return generate


def product(draw: DrawFn) -> Call:
    dtype = pick(draw, ALL)
    a, b, first, second = _operands(draw, dtype)
    room = 16384.0 if dtype == "int16" else 64.0
    given = kind(draw, dtype, first.scale * second.scale * room, 2.0)
    return result("MUL", a, b, how=given, fused_activation_function=pick(draw, ACTIVATIONS))


def squared_difference(draw: DrawFn) -> Call:
    a, b, first, second = _operands(draw, "int8")
    given = kind(draw, "int8", 64.0 * max(first.scale, second.scale) ** 2, 2.0)
    return result("SQUARED_DIFFERENCE", a, b, how=given)


def quotient(draw: DrawFn) -> Call:
    """Of constant divisors, of which none is 0."""
    dtype = pick(draw, ALL)
    first, second = kind(draw, dtype), kind(draw, dtype)
    shapes = pair(draw, SLICED)
    limits = np.iinfo(dtype)
    values = integers(draw, shapes[1], dtype, int(limits.min), int(limits.max))
    spare = limits.min if second.zero != limits.min else limits.max
    values = np.where(values == second.zero, spare, values).astype(dtype)
    given = kind(draw, dtype, first.scale / second.scale / (512 if dtype == "int16" else 16), 3.0)
    operands = (source(shapes[0], first), known(values, second.quantization))
    return result("DIV", *operands, how=given, fused_activation_function=pick(draw, ACTIVATIONS))


def of_stored_integers(draw: DrawFn) -> Call:
    """By constants that are neither 0 nor -1, and shift by no more bits than there are."""
    name = pick(draw, ("FLOOR_DIV", "FLOOR_MOD", "BITWISE_XOR", "RIGHT_SHIFT"))
    how = kind(draw, pick(draw, ("int8", "int16")))
    shapes = pair(draw, SLICED)
    most = 7 if name == "RIGHT_SHIFT" else 99
    values = integers(draw, shapes[1], how.dtype, 1, most)
    if name != "RIGHT_SHIFT" and flag(draw):
        values = -1 - values
    second = known(values, kind(draw, how.dtype).quantization)
    return result(name, source(shapes[0], how), second, how=kind(draw, how.dtype))


def comparison(draw: DrawFn) -> Call:
    a, b, _, _ = _operands(draw, pick(draw, ALL))
    return typed("bool", pick(draw, COMPARISONS), a, b)


def pick_one(draw: DrawFn) -> Call:
    """Of operands and a result with the same scale, as LiteRT's converter makes them."""
    how = kind(draw, pick(draw, ALL))
    shapes = pair(draw, SLICED)
    if one_in(draw, 3):
        sizes = shape(draw, SLICED)
        condition = Input(sizes, "truth", "bool")
        choices = (source(sizes, how), either(draw, sizes, how))
        return result("SELECT_V2", condition, *choices, how=how)
    operands = (source(shapes[0], how), either(draw, shapes[1], how))
    return result(pick(draw, ("MAXIMUM", "MINIMUM")), *operands, how=how)


def prelu(draw: DrawFn) -> Call:
    dtype = pick(draw, EIGHT_BITS)
    sizes = shape(draw, (2, 3, 4))
    first, second = kind(draw, dtype), kind(draw, dtype, 0.01)
    slopes = either(draw, (1,) * (len(sizes) - 2) + sizes[-1:], second)
    given = kind(draw, dtype, first.scale, 2.0)
    return result("PRELU", source(sizes, first), slopes, how=given)


GENERATORS: dict[str, Generator] = {
    "QUANTIZE": quantize,
    "quantized ADD": _sum("ADD"),
    "quantized DIV": quotient,
    "quantized LOGISTIC": bounded,
    "quantized MAXIMUM": pick_one,
    "quantized MUL": product,
    "quantized PRELU": prelu,
    "quantized DEQUANTIZE": dequantize,
    "quantized SQUARED_DIFFERENCE": squared_difference,
    "quantized SUB": _sum("SUB"),
    "quantized comparison": comparison,
    "quantized stored integers": of_stored_integers,
    "quantized unary": unary,
}
