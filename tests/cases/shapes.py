"""Operators that change shapes, and those whose results follow from shapes and constants."""

from collections.abc import Iterator

import numpy as np
from graphs import Call, Value, call, ints, known, typed, w, x, xi

from tflgpu.compiler.ir import Shape

from .case import Case


def reshapes() -> Iterator[Case]:
    for source, wanted in (
        ((2, 3, 5, 7), (2, 105)),
        ((2, 3, 5, 7), (6, 5, 7)),
        ((2, 3, 5, 7), (2, 5, 3, 7)),
        ((2, 3, 5, 32), (3, 2, 5, 32)),
        ((2, 3, 5, 7), (7, 5, 3, 2)),
        ((2, 3, 5, 7), (-1, 7)),
        ((2, 3, 5, 7), (210,)),
        ((2, 3, 5, 7), (2, -1, 5, 1, 7)),
        ((2, 3, 1, 5, 7, 1), (2, 3, 5, 7)),
        ((2, 3, 4, 4), (2, 3, 2, 2, 4)),
        ((1, 1, 1, 1), (1,)),
    ):
        value = call("RESHAPE", call("ABS", x(*source)), ints(*wanted))
        yield Case("RESHAPE", f"{source} to {wanted}", call("NEG", value))
    same_size = call("RESIZE_BILINEAR", w(2, 3, 5, 7), ints(3, 5))
    rows = call("EMBEDDING_LOOKUP", ints(2, 0, 1), w(3, 35))
    for situation, value in ("resize", same_size), ("lookup", rows):
        view = call("RESHAPE", value, ints(3, -1))
        yield Case("RESHAPE", f"of a {situation} of a constant", call("ADD", view, x(3, 1)))
    attribute = call("RESHAPE", x(2, 3, 5), new_shape=(5, 6))
    yield Case("RESHAPE", "shape in the options", attribute)
    yield Case("SHAPE", "of the batch, for a reshape", from_shape(x(3, 5, 7)))
    yield Case("SHAPE", "of a computed value", from_shape(call("ABS", x(3, 5, 7))))
    squeezed: tuple[tuple[Shape, Shape], ...] = (
        ((1, 5, 1, 7), ()),
        ((1, 5, 1, 7), (2,)),
        ((2, 1, 1), (1, -1)),
    )
    for shape, axes in squeezed:
        value = call("SQUEEZE", x(*shape), squeeze_dims=axes)
        yield Case("SQUEEZE", f"{shape} at {axes}", call("EXP", value))
    expanded: tuple[tuple[Shape, int], ...] = (
        ((5, 7), 0),
        ((5, 7), 1),
        ((5, 7), -1),
        ((2, 3, 5, 7), 2),
    )
    for shape, axis in expanded:
        value = call("EXPAND_DIMS", x(*shape), ints(axis))
        yield Case("EXPAND_DIMS", f"{shape} at {axis}", call("ABS", value))


def from_shape(value: Value) -> Call:
    """The flattening of everything but the batch, as converters write it for open batches."""
    shape = Call("SHAPE", (value,), {"out_type": "int32"}, ((3,),), "int32")
    batch = Call(
        "STRIDED_SLICE", (shape, ints(0), ints(1), ints(1)), {"shrink_axis_mask": 1}, ((),), "int32"
    )
    rest = known(np.array(-1, np.int32))
    wanted = Call("PACK", (batch, rest), {"values_count": 2, "axis": 0}, ((2,),), "int32")
    return Call("RESHAPE", (value, wanted), {}, ((3, 35),))


def known_beforehand() -> Iterator[Case]:
    """Operators whose results follow from shapes and constants."""
    image = x(2, 3, 5)
    zeros = call("ZEROS_LIKE", image)
    yield Case("ZEROS_LIKE", "of an input", call("ADD", image, zeros))
    rank = typed("int32", "RANK", image)
    yield Case("RANK", "of an input", typed("int32", "MUL", xi(5), rank))
    steps = (
        known(np.array(7, np.int32)),
        known(np.array(-4, np.int32)),
        known(np.array(-3, np.int32)),
    )
    yield Case(
        "RANGE", "downwards", typed("int32", "ADD", xi(3, 4), typed("int32", "RANGE", *steps))
    )
    value = call("FILL", ints(3, 5), x())
    yield Case("FILL", "with a computed value", call("ADD", x(5), value))
    yield Case("FILL", "of rank 0", call("FILL", ints(), x()))
    mask = known(np.array([[True, False, True], [False, False, True]]))
    places = typed("int64", "WHERE", mask)
    yield Case("WHERE", "of a constant", call("GATHER_ND", x(2, 3, 5), places))
    joint = typed("int32", "BROADCAST_ARGS", ints(3, 1), ints(2, 1, 5))
    yield Case(
        "BROADCAST_ARGS", "of two", Call("BROADCAST_TO", (x(3, 1), joint), shapes=((2, 3, 5),))
    )


TABLES = (reshapes, known_beforehand)
