"""Tiles, broadcasts and mirrors, and moves of other types than float32."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import Value, call, ints, known, parts, typed, x, xi

from .case import Case


def repetitions() -> Iterator[Case]:
    for dtype in ("float32", "int32", "int64", "bool"):

        def operand(*shape: int, dtype: str = dtype) -> Value:
            return x(*shape) if dtype == "float32" else xi(*shape, dtype=dtype)

        def row(operator: str, name: str, *operands: Value, of: str = dtype, **attrs: Any) -> Case:
            return Case(operator, f"{of} {name}", typed(of, operator, *operands, **attrs))

        yield row("TILE", "rank 4", operand(2, 3, 1, 5), ints(1, 2, 3, 3))
        yield row("TILE", "whole slices", operand(2, 3, 16), ints(3, 1, 2))
        yield row("TILE", "rank 1", operand(5), ints(7))
        yield row("BROADCAST_TO", "rank 4", operand(2, 1, 5, 1), ints(2, 3, 5, 7))
        yield row("BROADCAST_TO", "more axes", operand(3, 1), ints(2, 3, 3, 19))
        yield row("BROADCAST_TO", "rank 5", operand(3, 1), ints(5, 2, 3, 3, 19))
        yield row("REVERSE_V2", "columns", operand(2, 3, 5, 7), ints(2))
        if dtype != "bool":
            yield row("REVERSE_V2", "channels", operand(2, 3, 5, 19), ints(-1))
    yield Case("REVERSE_V2", "two axes", call("REVERSE_V2", x(2, 3, 5, 7), ints(1, 2)))
    for mode in ("REFLECT", "SYMMETRIC"):
        for pads in ([[0, 0], [1, 2], [2, 1], [0, 0]], [[0, 0], [0, 0], [4, 3], [6, 3]]):
            table = known(np.array(pads, np.int32))
            for shape in ((2, 3, 5, 7), (2, 3, 5, 16)):
                value = call("MIRROR_PAD", x(*shape), table, mode=mode)
                yield Case("MIRROR_PAD", f"{mode} {shape} {pads}", value)
        table = known(np.array([[2, 0], [1, 4]], np.int32))
        for dtype in ("int32",):
            value = typed(dtype, "MIRROR_PAD", xi(3, 5, dtype=dtype), table, mode=mode)
            yield Case("MIRROR_PAD", f"{mode} {dtype}", value)


def moves_of_integers() -> Iterator[Case]:
    for dtype in ("int32", "int64", "bool"):

        def operand(*shape: int, dtype: str = dtype) -> Value:
            return xi(*shape, dtype=dtype)

        def row(operator: str, name: str, *operands: Value, of: str = dtype, **attrs: Any) -> Case:
            return Case(operator, f"{of} {name}", typed(of, operator, *operands, **attrs))

        yield row("SLICE", "moved", operand(5, 7), ints(1, 2), ints(3, 4))
        yield row("TRANSPOSE", "moved", operand(2, 3, 5), ints(2, 0, 1))
        yield row("RESHAPE", "moved", operand(2, 3, 5), ints(5, 6))
        yield row("CONCATENATION", "moved", operand(2, 3), operand(2, 5), axis=1)
        strides = {f"{name}_mask": 0 for name in ("begin", "end", "ellipsis", "new_axis")}
        options: dict[str, Any] = {**strides, "shrink_axis_mask": 0, "offset": False}
        edges = ints(0, 5), ints(3, 0), ints(1, -2)
        yield row("STRIDED_SLICE", "moved", operand(3, 7), *edges, **options)
        if dtype != "bool":
            table = known(np.array([[1, 0], [2, 3]], np.int32))
            yield row("PAD", "moved", operand(3, 5), table)
    for axis in (0, 1, -1):
        split = parts("UNPACK", (2, 3, 5)[axis], x(2, 3, 5), num=(2, 3, 5)[axis], axis=axis)
        yield Case("UNPACK", f"axis {axis}", list(split))
    yield Case("UNPACK", "to scalars", list(parts("UNPACK", 3, x(3), num=3, axis=0)))
    yield Case("UNPACK", "rank 5", list(parts("UNPACK", 3, x(2, 3, 5, 3, 2), num=3, axis=1)))


TABLES = (repetitions, moves_of_integers)
