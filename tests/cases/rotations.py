"""Rotary embeddings as converters spell them out."""

from collections.abc import Iterator

import numpy as np
from graphs import Value, call, ints, known, number, reshape, transpose, typed, x, xi

from .case import Case


def halves_of(value: Value, *shape: int) -> list[Value]:
    """The first and the second half of the channels of a tensor of this shape."""
    *outer, depth = shape
    size = (*outer, depth // 2)
    return [
        call("SLICE", value, ints(*(0 for _ in outer), start), ints(*size))
        for start in (0, depth // 2)
    ]


def of_halves(value: Value, cos: Value, sin: Value, *shape: int) -> Value:
    """Both halves are computed, then put together."""
    first, second = halves_of(value, *shape)
    real = call("SUB", call("MUL", first, cos), call("MUL", second, sin))
    imaginary = call("ADD", call("MUL", second, cos), call("MUL", first, sin))
    return call("CONCATENATION", real, imaginary, axis=-1)


def of_wholes(value: Value, cos: Value, sin: Value, *shape: int) -> Value:
    """The tensor is added to itself with its halves exchanged."""
    first, second = halves_of(value, *shape)
    minus = call("MUL", second, number(-1)) if shape[0] == 1 else call("NEG", second)
    exchanged = call("CONCATENATION", minus, first, axis=len(shape) - 1)
    return call("ADD", call("MUL", value, cos), call("MUL", exchanged, sin))


def angles(*shape: int) -> tuple[Value, Value]:
    """Computed cosines and sines."""
    values = x(*shape)
    return call("COS", values), call("SIN", values)


def tables(rows: int, depth: int) -> tuple[Value, Value]:
    """Constant cosines and sines, which are the same for both halves."""
    half = np.random.default_rng(rows).uniform(-3, 3, (1, 1, rows, depth // 2))
    both = np.concatenate([half, half], -1).astype(np.float32)
    return known(np.cos(both)), known(np.sin(both))


def in_front(depth: int) -> Value:
    """Three heads brought before eleven rows, then turned."""
    heads = transpose(reshape(call("TANH", x(1, 11, 3 * depth)), 1, 11, 3, depth), 0, 2, 1, 3)
    return of_wholes(heads, *tables(11, depth), 1, 3, 11, depth)


def rotations() -> Iterator[Case]:
    one = of_halves(call("TANH", x(1, 4, 1, 32)), *angles(1, 1, 16), 1, 4, 1, 32)
    yield Case("recognized", "rotation of a row", one)
    rows = of_halves(call("TANH", x(2, 3, 5, 14)), *angles(1, 1, 5, 7), 2, 3, 5, 14)
    yield Case("recognized", "rotation of odd halves", rows)
    between = of_halves(call("TANH", x(2, 5, 3, 32)), *angles(5, 1, 16), 2, 5, 3, 32)
    yield Case("recognized", "rotation of heads after the rows", between)
    plain = of_wholes(call("TANH", x(2, 3, 7, 32)), *tables(7, 32), 2, 3, 7, 32)
    yield Case("recognized", "rotation of wholes", plain)
    yield Case("recognized", "rotation of heads brought before the rows", in_front(32))
    yield Case("recognized", "rotation of odd heads brought before the rows", in_front(10))
    for depth in (10, 32):
        turned = of_wholes(call("TANH", x(2, 3, 7, depth)), *tables(7, depth), 2, 3, 7, depth)
        scaled = call("MUL", turned, number(0.25))
        yield Case("recognized", f"rotation of {depth} channels, then scaled", scaled)
        added = call("ADD", turned, x(2, 3, 7, depth))
        yield Case("recognized", f"rotation of {depth} channels, then added", added)


def of_integers() -> Value:
    """Integers of more bits than floats have, turned like wholes."""
    rows = xi(1, 5, 8, draw="large")
    first, second = (
        typed("int32", "SLICE", rows, ints(0, 0, start), ints(1, 5, 4)) for start in (0, 4)
    )
    exchanged = typed("int32", "CONCATENATION", typed("int32", "NEG", second), first, axis=2)
    products = (typed("int32", "MUL", each, xi(5, 8)) for each in (rows, exchanged))
    return typed("int32", "ADD", *products)


def unlike_rotations() -> Iterator[Case]:
    """Rows and channels that are repeated for several angles, angles that are numbers or differ by
    batch; integers."""
    row, columns = x(1, 1, 8), x(1, 5, 2)
    value = of_halves(row, *angles(5, 4), 1, 1, 8)
    yield Case("recognized", "halves of a row by several angles", value)
    value = of_wholes(row, *angles(1, 5, 1, 8), 1, 1, 8)
    yield Case("recognized", "a row by several angles", value)
    value = of_halves(columns, *angles(5, 2), 1, 5, 2)
    yield Case("recognized", "two channels by two angles each", value)
    value = of_wholes(columns, number(0.6), number(0.8), 1, 5, 2)
    yield Case("recognized", "two channels by one angle", value)
    value = of_halves(x(2, 3, 5, 14), *angles(2, 1, 1, 7), 2, 3, 5, 14)
    yield Case("recognized", "rows by an angle of their batch", value)
    yield Case("recognized", "integers that are turned", of_integers())


TABLES = (rotations, unlike_rotations)
