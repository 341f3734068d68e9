"""Reductions of rows by their ids."""

from collections.abc import Iterator

import numpy as np
from graphs import call, ints, known, number, typed, x, xi

from .case import Case

UNSORTED = ("MAX", "MIN", "PROD", "SUM")


def segments() -> Iterator[Case]:
    ordered = ints(0, 0, 1, 2, 2, 2, 3)
    yield Case("SEGMENT_SUM", "of rows", call("SEGMENT_SUM", x(7, 3, 5), ordered))
    value = typed("int32", "SEGMENT_SUM", xi(7, 5), ordered)
    yield Case("SEGMENT_SUM", "of integers", value)
    for kind in UNSORTED:
        operator = f"UNSORTED_SEGMENT_{kind}"
        ids, count = ints(3, 0, -1, 3, 1, 0, 3), number(5, "int32")
        yield Case(operator, "of rows", call(operator, x(7, 3, 5), ids, count))
        yield Case(operator, "of numbers", typed("int32", operator, xi(7), ids, count))
        places = known(np.array([[0, 2, 1], [2, 2, 0]], np.int32))
        several = call("RELU", call(operator, x(2, 3, 7), places, number(4, "int32")))
        yield Case(operator, "of several axes, fused", several)
        found = xi(7, draw="places")
        value = call(operator, x(7, 3, 5), found, number(9, "int32"))
        yield Case(operator, "computed ids", value)
        below = typed("int32", "SUB", found, number(1, "int32"))
        value = typed("int32", operator, xi(7), below, number(3, "int32"))
        yield Case(operator, "computed ids, some negative", value)


TABLES = (segments,)
