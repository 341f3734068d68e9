"""Reductions, softmax and norms."""

from collections.abc import Iterator
from itertools import chain, combinations

import numpy as np
from graphs import Value, call, ints, known, number, transpose, typed, x, xi

from .case import Case


def reductions() -> Iterator[Case]:
    draws = {"REDUCE_PROD": "away from zero"}
    axes = range(4)
    every = list(chain.from_iterable(combinations(axes, n) for n in range(1, 5)))
    some = [(0,), (3,), (1, 2), (0, 2), (1, 2, 3)]
    for operator in ("MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM"):
        draw = draws.get(operator, "normal")
        for keep in (True, False):
            for subset in every if operator == "MEAN" else some:
                value = call(operator, x(2, 3, 5, 7, draw=draw), ints(*subset), keep_dims=keep)
                yield Case(operator, f"{subset} {'kept' if keep else 'dropped'}", value)
            backwards = call(operator, x(2, 3, 5, 17, draw=draw), ints(-2, -3), keep_dims=keep)
            yield Case(operator, f"(-2, -3) {'kept' if keep else 'dropped'}", backwards)
        lower = call(operator, x(5, 7, draw=draw), ints(-1), keep_dims=True)
        yield Case(operator, "rank 2", lower)
        row = call(operator, x(11, draw=draw), ints(0), keep_dims=False)
        yield Case(operator, "rank 1", row)
        higher = call(operator, x(2, 3, 2, 3, 2, draw=draw), ints(1, 4), keep_dims=False)
        yield Case(operator, "rank 5", higher)
        wide = call(operator, x(2, 3, 5, 32, draw=draw), ints(1, 2), keep_dims=True)
        yield Case(operator, "32 channels", wide)
        many = call(operator, x(2, 9, 11, 6, draw=draw), ints(1, 2), keep_dims=True)
        yield Case(operator, "many pixels", many)
        for shape, reduced in (
            ((2, 3, 5, 2, 37), (4,)),
            ((1, 3, 1, 2, 37), (0, 4)),
            ((2, 3, 5, 2, 16), (2, 3, 4)),
            ((2, 3, 5, 2, 7), (3, 4)),
        ):
            rows = call("ABS", x(*shape, draw=draw))
            value = call("NEG", call(operator, rows, ints(*reduced), keep_dims=False))
            yield Case(operator, f"rows of {shape} over {reduced}", value)
        for subset in ((0,), (1, 3), (2, 3)):
            rows = call("ABS", x(2, 3, 5, 2, 32, draw=draw))
            value = call("NEG", call(operator, rows, ints(*subset), keep_dims=False))
            yield Case(operator, f"{subset} across rows", value)
    volume = call("MEAN", x(1, 8, 96, 96, 3, draw="positive"), ints(1, 2, 3), keep_dims=False)
    yield Case("MEAN", "a volume of many values", volume)
    scalar = call("MEAN", x(2, 3, 5), known(np.array(1, np.int32)), keep_dims=True)
    yield Case("MEAN", "scalar axis", scalar)
    deep = call("REDUCE_MAX", x(2, 3, 5, 7, draw="deep"), ints(1, 2), keep_dims=True)
    yield Case("REDUCE_MAX", "deep values", deep)


def integer_reductions() -> Iterator[Case]:
    for operator in ("SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "MEAN"):
        for dtype in ("int32", "int64"):
            for axes in ((0,), (1, 2), (-1,)):
                draw = "counts" if operator == "REDUCE_PROD" else "small"
                operand = xi(2, 3, 5, draw=draw, dtype=dtype)
                value = typed(dtype, operator, operand, ints(*axes), keep_dims=False)
                yield Case(operator, f"{dtype} over {axes}", value)
    for operator in ("REDUCE_ANY", "REDUCE_ALL"):
        for axes in ((0,), (1, 2), (-1,)):
            value = typed("bool", operator, xi(2, 3, 2, dtype="bool"), ints(*axes), keep_dims=True)
            yield Case(operator, f"over {axes}", value)


def softmaxes() -> Iterator[Case]:
    for shape in ((37,), (3, 16), (3, 1), (2, 5, 7), (2, 3, 5, 19), (2, 3, 5, 32), (2, 3, 2, 5, 7)):
        yield Case("SOFTMAX", f"{shape}", call("SOFTMAX", x(*shape), beta=1.0))
    for beta in (0.25, 3.0):
        yield Case("SOFTMAX", f"beta {beta}", call("SOFTMAX", x(2, 3, 5, 7), beta=beta))
    large = call("SOFTMAX", x(3, 1001, draw="wide"), beta=1.0)
    yield Case("SOFTMAX", "large values, many of them", large)
    deep = call("SOFTMAX", x(2, 5, 7, draw="deep"), beta=1.0)
    yield Case("SOFTMAX", "deep values", deep)
    for shape, *order in (
        ((2, 3, 7, 32), 0, 1, 3, 2),
        ((2, 3, 7, 37), 0, 1, 3, 2),
        ((2, 3, 5, 2, 32), 0, 4, 2, 3, 1),
        ((3, 2, 80), 0, 2, 1),
    ):
        powers = call("SOFTMAX", transpose(x(*shape), *order), beta=0.5)
        value = call("MUL", transpose(powers, *order), x(*shape[1:]))
        yield Case("SOFTMAX", f"{shape} across rows", value)


def norms() -> Iterator[Case]:
    for shape in ((3, 37), (2, 3, 5, 7), (2, 3, 5, 16)):
        yield Case("L2_NORMALIZATION", f"{shape}", call("L2_NORMALIZATION", x(*shape)))
        yield Case("LOG_SOFTMAX", f"{shape}", call("LOG_SOFTMAX", x(*shape, draw="wide")))
    for channels in (5, 19, 32):
        attrs = {"radius": 2, "bias": 1.3, "alpha": 0.7, "beta": 0.6}
        value = call("LOCAL_RESPONSE_NORMALIZATION", x(2, 3, 5, channels), **attrs)
        yield Case("LOCAL_RESPONSE_NORMALIZATION", f"{channels} channels", value)
    for count in (2, 5):
        value = call("ADD_N", *(x(2, 3, 5, 7) for _ in range(count)))
        yield Case("ADD_N", f"{count}", value)


# Shapes, with the sizes, strides and dilations of windows.
WINDOWS = (
    ((7, 5), (3, 2), (1, 1), (1, 1)),
    ((2, 9, 7, 3), (1, 3, 2, 1), (1, 2, 3, 1), (1, 2, 1, 1)),
    ((5, 7), (5, 1), (1, 2), (1, 1)),
)


def windows() -> Iterator[Case]:
    for function, start in (("ADD", 0.5), ("MUL", 1.0), ("MINIMUM", 0.3), ("MAXIMUM", -0.3)):
        for shape, *columns in WINDOWS:
            tables = [known(np.array(column, np.int64)) for column in columns]
            operands: tuple[Value, ...] = x(*shape), number(start), *tables
            value = call("REDUCE_WINDOW", *operands, reduce_function=function)
            yield Case("REDUCE_WINDOW", f"{function} of {shape}", value)
    tables = [known(np.array(column, np.int64)) for column in WINDOWS[0][1:]]
    for function in ("ALL", "ANY"):
        operands = xi(7, 5, dtype="bool"), number(function == "ALL", "bool"), *tables
        value = typed("bool", "REDUCE_WINDOW", *operands, reduce_function=function)
        yield Case("REDUCE_WINDOW", function, value)


TABLES = (reductions, integer_reductions, softmaxes, norms, windows)
