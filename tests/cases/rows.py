"""Tensors of five axes, which are row-major: kernels compute slices of their rows on processors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from graphs import Value, call, ints, known, number, transpose, x

from .case import Case

WHOLE = (1, 3, 2, 5, 32)
"""Rows of whole slices, whatever the profile."""


def around(*before_and_after: tuple[int, int]) -> Value:
    return known(np.array(before_and_after, np.int32))


def with_operands(value: Value) -> Value:
    """A value in an epilogue with a number, a row, and a column."""
    row, column = known(np.arange(32, dtype=np.float32)), x(1, 3, 2, 5, 1)
    return call("ADD", call("SUB", call("MUL", value, number(0.5)), row), column)


def rows() -> Iterator[Case]:
    sine = call("SIN", call("MUL", x(*WHOLE), x(1, 3, 2, 5, 1)))
    yield Case("SIN", "rows of whole slices", with_operands(sine))
    positive = call("ABS", call("DIV", x(*WHOLE), x(1, 3, 2, 5, 32)))
    yield Case("POW", "rows of whole slices", call("POW", positive, x(1, 3, 2, 5, 1)))
    for columns in (16, 37):
        shape = (1, 3, 2, 5, columns)
        powers = call("SOFTMAX", x(*shape), beta=0.5)
        row = call("MUL", powers, known(np.arange(columns, dtype=np.float32)))
        yield Case("SOFTMAX", f"rank 5 of {columns}", call("ADD", row, x(1, 3, 2, 5, 1)))
    turned = call("RELU", transpose(x(3, 1, 5, 2, 32), 1, 0, 3, 2, 4))
    yield Case("TRANSPOSE", "whole rows", with_operands(turned))
    part = call("SLICE", x(1, 3, 2, 5, 70), ints(0, 0, 0, 0, 5), ints(*WHOLE))
    yield Case("SLICE", "parts of rows", part)
    sides = around((0, 0), (1, 0), (0, 1), (2, 1), (0, 0))
    yield Case("PAD", "whole rows", call("PAD", x(1, 2, 2, 3, 32), sides))
    longer = call("PAD", x(1, 2, 2, 3, 30), around(*[(0, 0)] * 4, (1, 1)))
    yield Case("PAD", "longer rows", longer)
    yield Case(
        "MIRROR_PAD", "whole rows", call("MIRROR_PAD", x(1, 2, 2, 3, 32), sides, mode="SYMMETRIC")
    )


TABLES = (rows,)
