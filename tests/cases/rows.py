"""Tensors of five axes, which are row-major: kernels compute slices of their rows on processors.

Rows of 37 elements are two slices and a rest for profiles with 16 lanes, and nine for those with 4.
"""

from collections.abc import Iterator

import numpy as np
from graphs import Value, call, ints, known, number, parts, transpose, x

from .case import Case

WHOLE = (1, 3, 2, 5, 32)  # Rows of whole slices, whatever the profile.


def around(*before_and_after: tuple[int, int]) -> Value:
    return known(np.array(before_and_after, np.int32))


def with_operands(value: Value) -> Value:
    """A value in an epilogue with a number, a row, and a column."""
    row, column = known(np.arange(32, dtype=np.float32)), x(1, 3, 2, 5, 1)
    return call("ADD", call("SUB", call("MUL", value, number(0.5)), row), column)


def rows() -> Iterator[Case]:
    sine = call("SIN", call("MUL", x(*WHOLE), x(1, 3, 2, 5, 1)))
    yield Case("SIN", "rows of whole slices", with_operands(sine))
    for shape in ((1, 3, 2, 5, 3), (1, 3, 2, 8, 4)):
        short = call("SUB", call("COS", x(*shape)), call("MUL", x(*shape), x(1)))
        yield Case("COS", f"short rows {list(shape)}", short)
        joined = call("CONCATENATION", x(*shape), call("TANH", short), call("EXP", short), axis=-1)
        yield Case("COS", f"short rows {list(shape)}, joined", joined)
    column = call("SUB", call("COS", x(1, 3, 2, 5, 1)), call("MUL", x(1, 3, 2, 5, 1), x(1)))
    yield Case("COS", "short rows of an element beside a number", column)
    first, second = parts("SPLIT", 2, ints(4), x(1, 3, 2, 5, 6), num_splits=2)
    yield Case("COS", "short rows within longer ones", call("SUB", call("COS", first), second))
    factor, offset = parts("SPLIT", 2, ints(4), x(1, 3, 2, 5, 2), num_splits=2)
    moved = call("ADD", call("MUL", call("SIN", x(*WHOLE)), factor), offset)
    yield Case("SIN", "rows and columns within longer rows", moved)
    positive = call("ABS", call("DIV", x(*WHOLE), x(1, 3, 2, 5, 32)))
    yield Case("POW", "rows of whole slices", call("POW", positive, x(1, 3, 2, 5, 1)))
    sums = call("ADD", call("ADD", x(2, 3, 2, 5, 37), x(2, 3, 2, 5, 1)), x(2, 1, 2, 1, 37))
    yield Case("ADD", "rows of slices and a rest", call("TANH", sums))
    for columns in (16, 37, 2053):
        shape = (1, 3, 2, 5, columns)
        powers = call("SOFTMAX", x(*shape), beta=0.5)
        row = call("MUL", powers, known(np.arange(columns, dtype=np.float32)))
        yield Case("SOFTMAX", f"rank 5 of {columns}", call("ADD", row, x(1, 3, 2, 5, 1)))
    for axes in ((0,), (1,), (0, 2)):
        sums = call("SUM", x(2, 3, 5, 37), ints(*axes), keep_dims=True)
        row = call("MUL", sums, known(np.arange(37, dtype=np.float32)))
        yield Case("SUM", f"along {axes}, across ragged rows", call("ADD", row, x(2, 3, 5, 1)))
    moved = call("RELU", transpose(x(3, 1, 5, 2, 32), 1, 0, 3, 2, 4))
    yield Case("TRANSPOSE", "whole rows", with_operands(moved))
    part = call("SLICE", x(1, 3, 2, 5, 70), ints(0, 0, 0, 0, 5), ints(*WHOLE))
    yield Case("SLICE", "parts of rows", part)
    sides = around((0, 0), (1, 0), (0, 1), (2, 1), (0, 0))
    yield Case("PAD", "whole rows", call("PAD", x(1, 2, 2, 3, 32), sides))
    longer = call("PAD", x(1, 2, 2, 3, 30), around(*[(0, 0)] * 4, (1, 1)))
    yield Case("PAD", "longer rows", longer)
    yield Case(
        "MIRROR_PAD", "whole rows", call("MIRROR_PAD", x(1, 2, 2, 3, 32), sides, mode="SYMMETRIC")
    )


def turned() -> Iterator[Case]:
    for shape, order in (
        ((2, 3, 5, 2, 12), (2, 0, 3, 1, 4)),
        ((2, 3, 5, 2, 37), (2, 0, 3, 1, 4)),
        ((2, 21, 2, 3, 37), (0, 4, 3, 2, 1)),
        ((2, 37, 2, 3, 5), (0, 2, 4, 3, 1)),
        ((2, 2, 7, 3, 5), (0, 1, 4, 3, 2)),
        ((1, 3, 37, 2, 32), (1, 0, 3, 4, 2)),
        ((1, 2, 1051, 1, 19), (0, 1, 3, 4, 2)),
        ((1, 37, 3, 7, 3), (2, 0, 3, 1, 4)),
    ):
        value = transpose(x(*shape), *order)
        yield Case("TRANSPOSE", f"rows of {shape} by {order}", value)
    heads = call("RELU", x(1, 2, 3, 37, 3))
    joined = call("CONCATENATION", heads, x(1, 2, 3, 1, 3), axis=3)
    turned = transpose(heads, 0, 3, 1, 2, 4)
    both = call("ADD", call("SUM", joined, ints(3)), call("SUM", turned, ints(1)))
    yield Case("TRANSPOSE", "short rows within longer ones", both)
    part = call("SLICE", x(1, 2, 5, 37, 7), ints(0, 0, 1, 2, 3), ints(1, 2, 3, 33, 3))
    yield Case("TRANSPOSE", "parts of short rows", transpose(part, 0, 3, 1, 2, 4))
    own = call("MUL", transpose(x(1, 37, 2, 5, 3), 0, 4, 2, 3, 1), x(1, 3, 2, 5, 37))
    yield Case("TRANSPOSE", "turned rows and others", call("RELU", own))


def pieces() -> Iterator[Case]:
    """Rows whose slices are in several pieces, or beyond an end."""
    shape = (1, 2, 2, 3, 37)
    for last in ((1, 0), (0, 9), (17, 2)):
        sides = around((0, 0), (1, 0), (0, 1), (0, 0), last)
        yield Case("PAD", f"rows by {last}", call("PAD", x(*shape), sides))
    fill = known(np.array([-2.5], np.float32))
    padded = call("PADV2", x(*shape), around(*[(0, 0)] * 4, (2, 3)), fill)
    own = call("MUL", padded, x(1, 2, 2, 3, 42))
    yield Case("PADV2", "rows and others", call("RELU", own))
    for mode in ("REFLECT", "SYMMETRIC"):
        sides = around((0, 0), (0, 0), (1, 1), (0, 0), (19, 4))
        value = call("MIRROR_PAD", x(*shape), sides, mode=mode)
        yield Case("MIRROR_PAD", f"rows, {mode}", value)
    yield Case("TILE", "rows", call("TILE", x(*shape), ints(1, 2, 1, 1, 3)))
    yield Case("REVERSE_V2", "rows", call("REVERSE_V2", x(*shape), ints(4)))
    yield Case("BROADCAST_TO", "rows", call("BROADCAST_TO", x(2, 1, 3, 1), ints(1, 2, 2, 3, 37)))
    every = ints(0, 0, 0, 0, 1), ints(1, 2, 2, 3, 70), ints(1, 1, 1, 1, 2)
    yield Case("STRIDED_SLICE", "rows", call("STRIDED_SLICE", x(1, 2, 2, 3, 70), *every))


TABLES = (rows, turned, pieces)
