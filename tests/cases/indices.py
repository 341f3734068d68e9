"""Operators with indices: gathers, scatters, searches, sums so far, updates."""

from collections.abc import Iterator

import numpy as np
from graphs import Call, Part, Value, call, ints, known, largest, number, typed, w, x, xi

from tflgpu.compiler.ir import Shape

from .case import Case


def places() -> Iterator[Case]:
    """Gathers, scatters and the like, with constant and computed indices of both types."""
    for dtype in ("int32", "int64"):
        near = known(np.array([2, 0, 1, 2], dtype))
        table = known(np.array([[1, 0], [0, 2], [1, 1]], dtype))
        for axis, batches in ((0, 0), (1, 0), (2, 0), (-1, 0), (1, 1), (2, 1), (2, 2)):
            count = (3, 5, 7)[axis]
            shape = (*(3, 5, 7)[:batches], 2, 11)
            indices = xi(*shape, draw="places", dtype=dtype)
            attrs = {"axis": axis, "batch_dims": batches}
            value = call("GATHER", x(3, 5, 7), indices, **attrs)
            yield Case("GATHER", f"{dtype} axis {axis} of {count}, {batches} batches", value)
        yield Case("GATHER", f"{dtype} constant", call("GATHER", x(3, 19), near, axis=0))
        value = call("GATHER", w(7, 19), xi(5, draw="places", dtype=dtype), axis=0)
        yield Case("GATHER", f"{dtype} of a constant", value)
        value = typed(dtype, "GATHER", xi(7, 5, dtype=dtype), near, axis=0)
        yield Case("GATHER", f"{dtype} values", value)
        # Rows of less than a slice, of one, of several, and of more.
        for columns in (5, 16, 32, 37):
            indices = xi(2, 3, draw="places", dtype=dtype)
            long = call("GATHER", x(2, 4, 7, columns), indices, axis=1, batch_dims=1)
            value = call("MUL", call("RELU", long), w(2, 3, 7, 1))
            yield Case("GATHER", f"{dtype} rows of {columns}", value)
            indices = xi(5, 2, draw="places", dtype=dtype)
            value = call("ADD", call("GATHER_ND", x(4, 3, 2, columns), indices), w(5, 2, columns))
            yield Case("GATHER_ND", f"{dtype} rows of {columns}", value)
        scalar = call("GATHER", x(7, 5), xi(draw="places", dtype=dtype), axis=0)
        yield Case("GATHER", f"{dtype} scalar index", scalar)
        yield Case("GATHER_ND", f"{dtype} rows", call("GATHER_ND", x(2, 3, 5), table))
        computed = xi(4, 5, 2, draw="places", dtype=dtype)
        yield Case("GATHER_ND", f"{dtype} computed", call("GATHER_ND", x(3, 3, 2, 5), computed))
        whole = call("GATHER_ND", x(3, 3), xi(5, 2, draw="places", dtype=dtype))
        yield Case("GATHER_ND", f"{dtype} elements", whole)
        for axis in (-1, 0, 1):
            indices = xi(3, 5, draw="places", dtype=dtype)
            operands = indices, known(np.array(4, np.int32)), w(), w()
            yield Case("ONE_HOT", f"{dtype} axis {axis}", call("ONE_HOT", *operands, axis=axis))
        ends = known(np.array(1, dtype)), known(np.array(-1, dtype))
        operands = xi(7, draw="places", dtype=dtype), known(np.array(5, np.int32)), *ends
        yield Case("ONE_HOT", f"{dtype} values", typed(dtype, "ONE_HOT", *operands, axis=-1))
    # LiteRT scatters by indices of 32 bits only.
    table = known(np.array([[1], [0], [1]], np.int32))
    extents = known(np.array([3, 4, 5], np.int32))
    value = call("SCATTER_ND", table, x(3, 4, 5), extents)
    yield Case("SCATTER_ND", "rows", value)
    computed = xi(7, 1, draw="places")
    value = call("SCATTER_ND", computed, x(7, 4, 5), extents)
    yield Case("SCATTER_ND", "computed, twice the same", value)
    every = np.stack(np.unravel_index(np.arange(101)[::-1] * 7 % 707, (101, 7)), -1)
    wide = call("SCATTER_ND", known(every.astype(np.int32)), x(101, 11), ints(101, 7, 11))
    yield Case("SCATTER_ND", "many known places", wide)
    order = known(np.random.default_rng(3).permutation(211).astype(np.int32).reshape(211, 1))
    yield Case("SCATTER_ND", "every place", call("SCATTER_ND", order, x(211, 13), ints(211, 13)))
    ids = xi(5, draw="places")
    yield Case("EMBEDDING_LOOKUP", "of rows", call("EMBEDDING_LOOKUP", ids, w(7, 3, 5)))


def searches() -> Iterator[Case]:
    for operator in ("ARG_MAX", "ARG_MIN"):
        output = {"output_type": "int32"}
        for axis in (0, 1, 2, 3, -1):
            shape = (2, 3, 5, 7)
            value = typed("int32", operator, x(*shape, draw="with ties"), _axis(axis), **output)
            yield Case(operator, f"axis {axis}", value)
        for size in (32, 101):
            tied = x(7, size, draw="with ties")
            value = typed("int32", operator, tied, _axis(-1), **output)
            yield Case(operator, f"of rows of {size}", value)
        value = typed("int64", operator, x(3, 37), _axis(-1), output_type="int64")
        yield Case(operator, "to int64", value)
        value = typed("int32", operator, xi(3, 37), _axis(0), **output)
        yield Case(operator, "of integers", value)
    few: tuple[tuple[Shape, int], ...] = (((37,), 4), ((2, 3, 101), 1), ((2, 1, 4097), 70))
    many: tuple[tuple[Shape, int], ...] = (((3, 19), 19), ((769,), 769), ((2, 1031), 200))
    for sizes, count in (*few, *many, ((37,), 5), ((3, 1100), 7)):
        yield Case("TOPK_V2", f"{count} of {sizes}", largest(x(*sizes, draw="with ties"), count))
    value = Call("TOPK_V2", (xi(2, 1001), known(np.array(9, np.int32))), outputs=2, dtype="int32")
    yield Case("TOPK_V2", "of many integers", [Part(value, 0), Part(value, 1)])
    value = Call("TOPK_V2", (xi(3, 19), known(np.array(4, np.int32))), outputs=2, dtype="int32")
    yield Case("TOPK_V2", "of integers", [Part(value, 0), Part(value, 1)])
    for axis in (0, 1, -1):
        for exclusive in (False, True):
            for reverse in (False, True):
                attrs = {"exclusive": exclusive, "reverse": reverse}
                value = call("CUMSUM", x(3, 5, 7), _axis(axis), **attrs)
                yield Case("CUMSUM", f"axis {axis} {exclusive} {reverse}", value)
    for rows, axis in (((2, 7, 37), 1), ((3, 5, 2, 32), 1), ((9, 3, 19), 0)):
        for attrs in ({"exclusive": True}, {"reverse": True}):
            sums = call("CUMSUM", x(*rows), _axis(axis), **attrs)
            added = call("ADD", sums, x(rows[-1]))
            yield Case("CUMSUM", f"of rows of {list(rows)}, {next(iter(attrs))}", added)
    yield Case("CUMSUM", "of integers", typed("int32", "CUMSUM", xi(3, 5), _axis(1)))
    yield Case("CUMSUM", "fused", call("RELU", call("CUMSUM", x(3, 5), _axis(1))))


def _axis(axis: int) -> Value:
    return known(np.array(axis, np.int32))


def updates() -> Iterator[Case]:
    for starts in ([1, 0, 2], [-3, 4, 9]):
        operands: tuple[Value, ...] = x(3, 5, 7), x(2, 5, 4), xi(3, draw="places")
        computed = typed("int32", "ADD", operands[2], known(np.array(starts, np.int32)))
        value = call("DYNAMIC_UPDATE_SLICE", *operands[:2], computed)
        yield Case("DYNAMIC_UPDATE_SLICE", f"{starts}", value)
    operands = xi(5, dtype="int64"), xi(2, dtype="int64"), ints(2)
    value = typed("int64", "DYNAMIC_UPDATE_SLICE", *operands)
    yield Case("DYNAMIC_UPDATE_SLICE", "of integers", value)


def single_places() -> Iterator[Case]:
    """Slices that take one place, which is computed, along some axes, and all along the others."""
    for situation, numbers, strides, masks in (
        ("of rows", [2, 0, 0], (1, 1, 1), {"begin": 6, "end": 6, "shrink_axis": 1}),
        ("from the end", [0, -2, 0], (2, 1, -1), {"begin": 5, "end": 5, "shrink_axis": 2}),
        ("of two axes", [1, 0, -3], (1, 1, 1), {"begin": 2, "end": 2, "shrink_axis": 5}),
        ("of every axis", [1, -4, 3], (1, 1, 1), {"shrink_axis": 7}),
        ("behind others", [0, 0, 5], (1, 1, 1), {"ellipsis": 1, "new_axis": 2, "shrink_axis": 4}),
        ("of nothing", [0, 0, 0], (1, 2, 1), {"begin": 7, "end": 7}),
    ):
        begin = typed("int32", "ADD", xi(3, draw="places"), ints(*numbers))
        end = typed("int32", "ADD", begin, ints(1, 1, 1))
        attrs = {f"{name}_mask": mask for name, mask in masks.items()}
        value = call("STRIDED_SLICE", x(5, 7, 11), begin, end, ints(*strides), **attrs)
        yield Case("STRIDED_SLICE", f"computed place {situation}", value)
    place = xi(1, draw="places")
    operands = x(5, 37), place, typed("int32", "ADD", place, ints(1)), ints(1)
    value = call("TANH", call("STRIDED_SLICE", *operands, shrink_axis_mask=1))
    yield Case("STRIDED_SLICE", "computed place, fused", value)


def sparse() -> Iterator[Case]:
    table = known(np.array([[0, 2], [3, 1], [4, 6]], np.int32))
    operands = table, ints(5, 7), x(3), number(-1.5)
    yield Case("SPARSE_TO_DENSE", "of two axes", call("SPARSE_TO_DENSE", *operands))
    operands = ints(1, 4, 4), ints(7), xi(3), number(9, "int32")
    yield Case("SPARSE_TO_DENSE", "a place twice", typed("int32", "SPARSE_TO_DENSE", *operands))
    operands = table, ints(5, 7), x(), number(0.0)
    value = call("TANH", call("SPARSE_TO_DENSE", *operands))
    yield Case("SPARSE_TO_DENSE", "one value, fused", value)


def buckets() -> Iterator[Case]:
    edges = (-1.5, 0.0, 0.5, 0.5, 2.5)
    value = typed("int32", "BUCKETIZE", x(3, 5, 7, draw="with ties"), boundaries=edges)
    yield Case("BUCKETIZE", "of floats", value)
    value = typed("int32", "BUCKETIZE", x(3, 37, draw="special"), boundaries=edges)
    yield Case("BUCKETIZE", "of special values", value)
    value = typed("int32", "BUCKETIZE", xi(5, 7), boundaries=(-20.0, 3.0, 10.5))
    yield Case("BUCKETIZE", "of integers", value)
    one = typed("int32", "BUCKETIZE", call("TANH", x(5)), boundaries=(0.1,))
    yield Case("BUCKETIZE", "one boundary", one)


TABLES = (places, searches, updates, single_places, sparse, buckets)
