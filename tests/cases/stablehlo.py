"""Elementwise operators of StableHLO, which do not broadcast."""

from collections.abc import Iterator

import numpy as np
from graphs import Call, call, known, typed, x, xi

from .case import Case

ARITHMETIC = ("STABLEHLO_ADD", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM", "STABLEHLO_MULTIPLY")


def elementwise() -> Iterator[Case]:
    for operator in ARITHMETIC:
        yield Case(operator, "of floats", call(operator, x(2, 3, 5, 7), x(2, 3, 5, 7)))
        fused = call(operator, call("TANH", x(5, 7)), x(5, 7, draw="special"))
        yield Case(operator, "of special values, fused", fused)
        yield Case(operator, "of integers", typed("int32", operator, xi(3, 7), xi(3, 7)))
    for dtype in ("int32", "bool"):
        operands = xi(3, 5, 7, dtype=dtype), xi(3, 5, 7, dtype=dtype)
        yield Case("STABLEHLO_AND", dtype, typed(dtype, "STABLEHLO_AND", *operands))
    bits = known(np.array([0, 1, 4, 7, 17, 30, 31], np.int32))
    value = typed("int32", "STABLEHLO_SHIFT_LEFT", xi(7, draw="large"), bits)
    yield Case("STABLEHLO_SHIFT_LEFT", "by up to 31 bits", value)


def comparisons() -> Iterator[Case]:
    """LiteRT has no kernel for them."""
    pairs = (("EQ", "EQUAL"), ("NE", "NOT_EQUAL"), ("LT", "LESS"), ("GE", "GREATER_EQUAL"))
    for direction, operator in pairs:
        options = {"comparison_direction": f"STABLEHLO_COMPARISON_DIRECTION_{direction}"}
        operands = x(3, 7, draw="with ties"), x(3, 7, draw="with ties")
        value = typed("bool", "STABLEHLO_COMPARE", *operands, **options)
        yield Case("STABLEHLO_COMPARE", direction, value, typed("bool", operator, *operands))


def counts() -> Iterator[Case]:
    """LiteRT has no kernel for STABLEHLO_IOTA, either."""
    for axis in range(3):
        counted = Call("STABLEHLO_IOTA", (), {"iota_dimension": axis}, ((2, 3, 5),))
        wanted = known(np.indices((2, 3, 5))[axis].astype(np.float32))
        value, oracle = (call("MUL", x(2, 3, 5), each) for each in (counted, wanted))
        yield Case("STABLEHLO_IOTA", f"along axis {axis}", value, oracle)


TABLES = (elementwise, comparisons, counts)
