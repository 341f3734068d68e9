"""Elementwise operators of integers, powers, comparisons and selections."""

from collections.abc import Iterator

import numpy as np
from graphs import Value, call, known, typed, w, x, xi

from tflgpu.compiler.ir import Shape

from .case import Case

# Pairs of shapes of the operands of a binary operator.
BROADCASTS = (
    ((2, 3, 5, 19), (2, 3, 5, 19)),
    ((2, 3, 5, 19), (19,)),
    ((2, 3, 5, 19), ()),
    ((2, 3, 1, 19), (2, 1, 5, 1)),
    ((5, 1), (2, 3, 1, 17)),
    ((7, 2, 3, 1, 5), (2, 3, 5, 1)),
)

COMPARISONS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")


def float_binary_operators() -> Iterator[Case]:
    draws = {
        "POW": ("positive", "normal"),
        "FLOOR_DIV": ("wide", "away from zero"),
        "FLOOR_MOD": ("wide", "away from zero"),
        "ATAN2": ("normal", "normal"),
    }
    for operator, (first_draw, second_draw) in draws.items():
        for first, second in BROADCASTS:
            if operator == "ATAN2" and first != second:
                continue
            if len(first) > 4:
                continue
            value = call(operator, x(*first, draw=first_draw), x(*second, draw=second_draw))
            yield Case(operator, f"{first} and {second}", value)
    powers = known(np.array([0.0, 1.0, 2.0, 3.0, -1.0, -2.0], np.float32))
    yield Case("POW", "of negative values", call("POW", x(5, 6), powers))


def comparisons_of_small_integers() -> Iterator[Case]:
    """LiteRT crashes on plain integers of 8 bits, whose int32 it compares."""
    for dtype in ("int8", "uint8", "int16"):
        for operator in COMPARISONS:
            if (operator, dtype) == ("NOT_EQUAL", "int16"):
                continue
            operands = xi(3, 5, 19, dtype=dtype), xi(19, dtype=dtype)
            wide = [typed("int32", "CAST", operand) for operand in operands]
            value, oracle = typed("bool", operator, *operands), typed("bool", operator, *wide)
            yield Case(operator, dtype, value, oracle)


def integer_binary_operators() -> Iterator[Case]:
    arithmetic = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "FLOOR_DIV", "FLOOR_MOD", "DIV")
    for operator in (*arithmetic, *COMPARISONS, "SQUARED_DIFFERENCE"):
        for dtype in ("int32", "int64"):
            if dtype == "int64" and operator in ("DIV", "FLOOR_DIV", "SQUARED_DIFFERENCE"):
                continue
            result = "bool" if operator in COMPARISONS else dtype
            for first, second in BROADCASTS[:5]:
                # LiteRT fails on a divisor of zero.
                draw = "counts" if operator in ("DIV", "FLOOR_DIV", "FLOOR_MOD") else "small"
                operands = xi(*first, dtype=dtype), xi(*second, draw=draw, dtype=dtype)
                value = typed(result, operator, *operands)
                yield Case(operator, f"{dtype} {first} and {second}", value)
            constant = known(np.array([-7, 3, -2, 5, 9], dtype))
            value = typed(result, operator, xi(3, 5, dtype=dtype), constant)
            yield Case(operator, f"{dtype} and a constant", value)
            scalar = known(np.array(-3, dtype))
            value = typed(result, operator, xi(3, 5, dtype=dtype), scalar)
            yield Case(operator, f"{dtype} and a constant scalar", value)


def logic() -> Iterator[Case]:
    for operator in COMPARISONS:
        for first, second in BROADCASTS[:5]:
            value = typed(
                "bool", operator, x(*first, draw="with ties"), x(*second, draw="with ties")
            )
            yield Case(operator, f"{first} and {second}", value)
    for operator in ("LOGICAL_AND", "LOGICAL_OR"):
        for first, second in BROADCASTS[:5]:
            operands = xi(*first, dtype="bool"), xi(*second, dtype="bool")
            yield Case(operator, f"{first} and {second}", typed("bool", operator, *operands))
    flags = typed("bool", "EQUAL", xi(3, 5, dtype="bool"), xi(3, 5, dtype="bool"))
    yield Case("EQUAL", "bool", flags)


def selections() -> Iterator[Case]:
    for operator in ("SELECT", "SELECT_V2"):
        for dtype in ("float32", "int32", "int64", "bool"):
            for condition, operand in (((2, 3, 5, 7),) * 2, ((3,), (3, 5, 7)), ((), (5, 7))):
                if operator == "SELECT_V2" and condition == (3,):
                    continue
                chosen = [xi(*operand, dtype=dtype), xi(*operand, dtype=dtype)]
                if dtype == "float32":
                    chosen = [x(*operand), x(*operand)]
                value = typed(dtype, operator, xi(*condition, dtype="bool"), *chosen)
                yield Case(operator, f"{dtype} {condition} for {operand}", value)
    shapes = (((2, 1, 5, 7), (3, 1, 7), (2, 3, 5, 1)), ((5, 1), (), (7,)), ((1,), (2, 3), (2, 1)))
    for three in shapes:
        chooser, first, second = three
        value = call("SELECT_V2", xi(*chooser, dtype="bool"), x(*first), x(*second))
        yield Case("SELECT_V2", f"{chooser}, {first}, {second}", value)
    masked = call("SELECT_V2", typed("bool", "LESS", x(2, 5, 7), x(2, 1, 7)), x(2, 5, 7), w())
    yield Case("SELECT_V2", "where less", call("RELU", masked))
    rows = _written(x(2, 5, 7), x(2, 1, 7), x(2, 5, 7), (5, 1), "float32")
    yield Case("SELECT_V2", "of rows of one tensor", rows)
    line, one, other = (xi(*shape, dtype="int32") for shape in ((5,), (1,), (5,)))
    elements = _written(line, one, other, (5,), "int32")
    yield Case("SELECT_V2", "of elements of one tensor", elements)


def _written(tensor: Value, row: Value, rows: Value, along: Shape, dtype: str) -> Value:
    """A tensor of 5 rows, of which all but the last are replaced, by conditions of this shape."""
    sources = ((row, [1]), (rows, [2, 3]), (known(np.zeros((), dtype)), [0]), (row, [3]))
    for source, places in sources:
        condition = known(np.isin(np.arange(5), places).reshape(along))
        tensor = typed(dtype, "SELECT_V2", condition, source, tensor)
    return tensor


TABLES = (
    float_binary_operators,
    integer_binary_operators,
    comparisons_of_small_integers,
    logic,
    selections,
)
