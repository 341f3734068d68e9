"""Operators that move elements: pads, slices, splits, concatenations, transposes."""

from collections.abc import Iterator, Mapping

import numpy as np
from graphs import Call, Value, call, ints, known, parts, quantized, reshape, typed, w, x, xi, xq

from tflgpu.compiler.ir import Shape

from .case import Case


def pads() -> Iterator[Case]:
    tables = {
        "pixels": ((0, 0), (1, 2), (3, 0), (0, 0)),
        "channels": ((0, 0), (0, 0), (0, 0), (3, 2)),
        "channels behind": ((0, 0), (0, 0), (0, 0), (0, 13)),
        "a slice of channels": ((0, 0), (0, 0), (0, 0), (16, 16)),
        "batches": ((1, 2), (0, 0), (0, 0), (0, 0)),
        "everything": ((1, 0), (2, 1), (0, 3), (1, 5)),
        "nothing": ((0, 0), (0, 0), (0, 0), (0, 0)),
    }
    for situation, table in tables.items():
        paddings = known(np.array(table, np.int32))
        yield Case("PAD", situation, call("PAD", x(2, 3, 5, 7), paddings))
        value = known(np.array([-2.5], np.float32))
        yield Case("PADV2", situation, call("PADV2", x(2, 3, 5, 7), paddings, value))
    slices = known(np.array(((0, 0), (1, 0), (0, 2), (16, 32)), np.int32))
    yield Case("PAD", "whole slices", call("PAD", x(2, 3, 5, 16), slices))
    yield Case("PADV2", "whole slices", call("PADV2", x(2, 3, 5, 16), slices, value))
    for rank in (1, 2, 3, 5):
        shape, pairs = (5, 7, 3, 2, 2)[:rank], ((1, 2), (0, 3), (2, 0), (0, 0), (1, 1))[:rank]
        paddings = known(np.array(pairs, np.int32))
        yield Case("PAD", f"rank {rank}", call("PAD", x(*shape), paddings))
    long = known(np.array(((1, 1), (0, 2)), np.int64))
    yield Case("PAD", "table of int64", call("PAD", x(5, 7), long))


def slices() -> Iterator[Case]:
    for shape, begin, size in (
        ((2, 5, 7, 19), (0, 1, 2, 0), (2, 3, 4, 19)),
        ((2, 5, 7, 19), (1, 0, 0, 3), (1, 5, 7, 11)),
        ((2, 5, 7, 37), (0, 0, 0, 16), (2, 5, 7, 21)),
        ((2, 5, 7, 19), (0, 2, 0, 16), (-1, -1, -1, -1)),
        ((5, 7), (1, 2), (3, 5)),
        ((37,), (3,), (29,)),
        ((2, 3, 5, 2, 7), (0, 1, 2, 0, 3), (2, 2, 3, 1, 4)),
    ):
        value = call("SLICE", x(*shape), ints(*begin), ints(*size))
        yield Case("SLICE", f"{shape} from {begin} of {size}", value)


def strided(
    shape: Shape, begin: Shape, end: Shape, stride: Shape, /, offset: bool = False, **masks: int
) -> Call:
    attrs = {"offset": offset, **{f"{name}_mask": mask for name, mask in masks.items()}}
    return call("STRIDED_SLICE", x(*shape), ints(*begin), ints(*end), ints(*stride), **attrs)


def strided_slices() -> Iterator[Case]:
    rows: dict[str, Call] = {
        "plain": strided((2, 5, 7, 11), (0, 1, 2, 3), (2, 5, 6, 10), (1, 1, 1, 1)),
        "strides": strided((2, 5, 7, 11), (0, 0, 1, 0), (2, 5, 7, 11), (1, 2, 3, 2)),
        "channels from a slice on": strided((2, 3, 5, 37), (0, 0, 0, 16), (2, 3, 5, 37), (1,) * 4),
        "pixels, whole slices": strided((2, 5, 7, 32), (0, 1, 0, 0), (2, 5, 7, 32), (1, 2, 2, 1)),
        "negative strides": strided(
            (2, 5, 7, 11), (1, 4, 6, 10), (-9, -9, 0, -12), (-1, -1, -2, -3)
        ),
        "negative ends": strided((2, 5, 7, 11), (-2, -4, 0, -9), (2, -1, -2, -1), (1,) * 4),
        "ends beyond": strided((2, 5, 7), (-9, 2, 1), (9, 99, 7), (1, 1, 1)),
        "begin mask": strided((2, 5, 7), (1, 3, 2), (2, 5, 6), (1, 1, 1), begin=0b011),
        "end mask": strided((2, 5, 7), (0, 1, 2), (1, 2, 3), (1, 2, 1), end=0b110),
        "ends as offsets, in spite of their mask": strided(
            (2, 5, 7), (0, 1, 2), (1, 2, 3), (1, 2, 1), offset=True, end=0b110
        ),
        "masks with negative strides": strided(
            (2, 5, 7), (0, 1, 1), (0, 2, 2), (-1, -1, -2), begin=0b111, end=0b111
        ),
        "shrinking": strided(
            (2, 5, 7, 11), (1, 0, 3, 0), (2, 5, 4, 11), (1,) * 4, shrink_axis=0b0101
        ),
        "shrinking from the end": strided(
            (2, 5, 7), (0, -2, 0), (2, -1, 7), (1,) * 3, shrink_axis=2
        ),
        "shrinking everything": strided((2, 5, 7), (1, 3, 4), (2, 4, 5), (1,) * 3, shrink_axis=7),
        "shrinking channels": strided(
            (2, 3, 5, 7), (0,) * 3 + (4,), (2, 3, 5, 5), (1,) * 4, shrink_axis=8
        ),
        "ellipsis in front": strided((2, 3, 5, 7), (0, 1), (0, 6), (1, 2), ellipsis=0b01),
        "ellipsis in the middle": strided(
            (2, 3, 5, 7), (1, 0, 2), (2, 0, 7), (1, 1, 1), ellipsis=0b010
        ),
        "ellipsis over no axis": strided(
            (3, 4), (1, 0, 1), (3, 0, 3), (1, 1, 1), ellipsis=0b010, shrink_axis=0b100
        ),
        "new axis": strided((5, 7), (1, 0, 0), (4, 0, 7), (1, 1, 1), new_axis=0b010),
        "new axis behind": strided((5, 7), (1, 0, 0), (4, 7, 0), (1, 1, 1), new_axis=0b100),
        "new axis and ellipsis": strided(
            (3, 5, 7), (0, 0, 1), (0, 0, 6), (1, 1, 1), new_axis=0b001, ellipsis=0b010
        ),
        "new axis and shrinking": strided(
            (3, 5, 7), (2, 0, 1), (3, 0, 4), (1, 1, 1), shrink_axis=0b001, new_axis=0b010
        ),
        "fewer entries than axes": strided((2, 5, 7, 3), (1, 1), (2, 4), (1, 1)),
        "rank 5": strided((2, 3, 2, 5, 7), (0, 0, 1, 1, 0), (2, 3, 2, 5, 7), (1, 2, 1, 3, 2)),
        "shrinking rank 5": strided(
            (2, 3, 5, 2, 7), (0,) * 5, (2, 1, 5, 2, 7), (1,) * 5, shrink_axis=0b10
        ),
        "rank 1": strided((37,), (5,), (31,), (3,)),
    }
    for situation, value in rows.items():
        yield Case("STRIDED_SLICE", situation, value)


def splits() -> Iterator[Case]:
    even: tuple[tuple[Shape, int, int], ...] = (
        ((4, 3, 5, 7), 0, 2),
        ((2, 6, 5, 7), 1, 3),
        ((2, 3, 5, 6), -1, 3),
        ((2, 3, 5, 32), 3, 2),
        ((2, 35), 1, 7),
    )
    for shape, axis, count in even:
        value = parts("SPLIT", count, ints(axis), x(*shape), num_splits=count)
        yield Case("SPLIT", f"{shape} at {axis}", value)
    uneven: tuple[tuple[Shape, int, Shape], ...] = (
        ((2, 3, 5, 19), 3, (16, 3)),
        ((2, 3, 5, 19), 3, (3, 11, 5)),
        ((2, 7, 5, 3), 1, (2, -1)),
        ((37,), 0, (5, 13, 19)),
        ((2, 3, 2, 5, 7), -2, (2, 3)),
    )
    for shape, axis, sizes in uneven:
        operands = (x(*shape), ints(*sizes), ints(axis))
        value = parts("SPLIT_V", len(sizes), *operands, num_splits=len(sizes))
        yield Case("SPLIT_V", f"{shape} at {axis} to {sizes}", value)
    both = parts("SPLIT", 2, ints(3), call("ABS", x(2, 3, 5, 14)), num_splits=2)
    yield Case("SPLIT", "joined again", call("MUL", both[0], call("LOGISTIC", both[1])))


def concatenations() -> Iterator[Case]:
    def row(situation: str, axis: int, *shapes: Shape) -> Case:
        value = call("CONCATENATION", *(x(*shape) for shape in shapes), axis=axis)
        return Case("CONCATENATION", situation, value)

    yield row("channels", 3, (2, 3, 5, 7), (2, 3, 5, 11), (2, 3, 5, 1))
    yield row("channels in whole slices", 3, (2, 3, 5, 16), (2, 3, 5, 32), (2, 3, 5, 5))
    yield row("few channels each", -1, (2, 3, 5, 1), (2, 3, 5, 2), (2, 3, 5, 1), (2, 3, 5, 3))
    yield row("channels of several slices", 3, (2, 3, 5, 13), (2, 3, 5, 45), (2, 3, 5, 20))
    yield row("channels after a ragged one", 3, (2, 3, 5, 17), (2, 3, 5, 16))
    yield row("rows", 1, (2, 3, 5, 7), (2, 1, 5, 7))
    yield row("columns", 2, (2, 3, 5, 17), (2, 3, 2, 17))
    yield row("batches", 0, (2, 3, 5, 7), (1, 3, 5, 7), (3, 3, 5, 7))
    yield row("rank 2", 1, (3, 5), (3, 11))
    yield row("rank 3", 1, (2, 3, 5), (2, 7, 5))
    yield row("rank 5", 2, (2, 3, 2, 5, 3), (2, 3, 1, 5, 3))
    yield row("rank 1", 0, (5,), (37,))
    yield row("one", 1, (2, 3, 5))
    image = x(2, 3, 5, 7)
    twice = call("CONCATENATION", image, image, axis=3)
    yield Case("CONCATENATION", "a value twice", twice)
    constant = call("CONCATENATION", w(2, 3, 5, 5), x(2, 3, 5, 7), axis=3)
    yield Case("CONCATENATION", "a constant", constant)
    attrs = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    branches = [call("CONV_2D", image, w(c, 1, 1, 7), w(c), **attrs) for c in (5, 16, 3)]
    joined = call("RELU", call("CONCATENATION", *branches, axis=3))
    yield Case("CONCATENATION", "of convolutions, then an activation", joined)
    for axis in (0, 1, 2, -1):
        operands: list[Value] = [x(3, 5), x(3, 5), w(3, 5)]
        value = call("PACK", *operands, values_count=3, axis=axis)
        yield Case("PACK", f"at {axis}", value)
    for shape, shifts in (
        ((2, 5, 7, 19), {1: 2}),
        ((2, 5, 7, 16), {2: 3, 1: 4}),
        ((1, 33, 32, 48), {1: 4, 2: 28}),
        ((2, 3, 5, 7), {3: 3, 0: 1}),
        ((2, 3, 2, 5, 3), {3: 1, 2: 1, 1: 2}),
    ):
        shifted = call("TANH", rolled(shape, shifts))
        steps = ", ".join(f"{count} along {axis}" for axis, count in shifts.items())
        yield Case("CONCATENATION", f"{shape} rolled by {steps}", shifted)
    integers = rolled((3, 5, 7), {1: 2}, "int32")
    yield Case("CONCATENATION", "rolled integers", integers)
    wide = call("PACK", x(2, 3, 5, 7), x(2, 3, 5, 7), values_count=2, axis=1)
    yield Case("PACK", "rank 4", wide)


def rolled(shape: Shape, shifts: Mapping[int, int], dtype: str = "float32") -> Value:
    """A tensor cut along axes, one after the other, and joined the other way round."""
    value: Value = x(*shape) if dtype == "float32" else xi(*shape)
    for axis, cut in shifts.items():
        begin = [cut if place == axis else 0 for place in range(len(shape))]
        first = [cut if place == axis else size for place, size in enumerate(shape)]
        start = typed(dtype, "SLICE", value, ints(*[0 for _ in shape]), ints(*first))
        end = typed(dtype, "SLICE", value, ints(*begin), ints(*[-1 for _ in shape]))
        value = typed(dtype, "CONCATENATION", end, start, axis=axis)
    return value


def transposes() -> Iterator[Case]:
    orders: tuple[Shape, ...] = (
        (1, 0),
        (0, 2, 1),
        (2, 0, 1),
        (0, 3, 1, 2),
        (0, 2, 3, 1),
        (0, 2, 1, 3),
        (1, 2, 0, 3),
        (3, 2, 1, 0),
        (0, 1, 2, 3),
        (1, 0, 3, 2, 4),
        (4, 3, 2, 1, 0),
        (0, 5, 2, 1, 4, 3),
    )
    for order in orders:
        shape = (2, 3, 5, 7, 2, 3)[: len(order)]
        yield Case("TRANSPOSE", f"{order}", call("TRANSPOSE", x(*shape), ints(*order)))
    wide = call("TRANSPOSE", x(2, 3, 5, 32), ints(0, 2, 1, 3))
    yield Case("TRANSPOSE", "pixels of whole slices", wide)
    for columns in (48, 20):
        windows = call("TRANSPOSE", x(1, 4, 8, 4, 8, columns), ints(0, 1, 3, 2, 4, 5))
        yield Case("TRANSPOSE", f"windows of {columns} channels", windows)
        beside = call("CONCATENATION", windows, x(1, 4, 4, 8, 8, columns), axis=5)
        yield Case("TRANSPOSE", f"windows of {columns} channels beside others", beside)
    few_rows: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
        ((1, 3, 5, 32), (0, 2, 3, 1)),
        ((2, 4, 3, 48), (0, 2, 3, 1)),
        ((2, 3, 3, 2, 16), (2, 0, 3, 4, 1)),
    )
    for shape, order in few_rows:
        few = call("TRANSPOSE", x(*shape), ints(*order))
        yield Case("TRANSPOSE", f"few rows of {shape}", few)
    pixels: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
        ((2, 5, 7, 37), (0, 3, 1, 2)),
        ((2, 17, 3, 19), (0, 3, 2, 1)),
        ((3, 2, 19, 16), (1, 0, 3, 2)),
        ((17, 2, 3, 5), (1, 2, 3, 0)),
        ((2, 23, 37), (0, 2, 1)),
        ((33, 18), (1, 0)),
    )
    for shape, order in pixels:
        turned = call("TRANSPOSE", call("TANH", x(*shape)), ints(*order))
        yield Case("TRANSPOSE", f"pixels of {shape} to rows by {order}", turned)
        size = [shape[axis] for axis in order]
        fused = call("MUL", call("EXP", turned), x(*size[-2:]))
        yield Case("TRANSPOSE", f"pixels of {shape} to rows by {order}, fused", fused)
    beginnings = call("SLICE", call("TANH", x(1, 17, 7, 5)), ints(0, 0, 0, 0), ints(1, 17, 7, 3))
    turned = call("TRANSPOSE", reshape(beginnings, 17, 7, 3), ints(1, 2, 0))
    yield Case("TRANSPOSE", "the beginnings of rows to columns", turned)


def diagonals() -> Iterator[Case]:
    yield Case("MATRIX_DIAG", "of rows", call("MATRIX_DIAG", x(2, 3, 5)))
    yield Case("MATRIX_DIAG", "of integers", typed("int32", "MATRIX_DIAG", xi(3, 7)))
    for rows, columns in ((5, 5), (3, 7), (7, 3)):
        value = call("MATRIX_SET_DIAG", x(2, 3, rows, columns), x(2, 3, min(rows, columns)))
        yield Case("MATRIX_SET_DIAG", f"{rows} x {columns}", value)
    value = typed("int32", "MATRIX_SET_DIAG", xi(3, 5), ints(1, 2, 3))
    yield Case("MATRIX_SET_DIAG", "of integers, a constant", value)


def sequences() -> Iterator[Case]:
    value = call("REVERSE_SEQUENCE", x(2, 3, 5), ints(2, 3), seq_dim=1, batch_dim=0)
    yield Case("REVERSE_SEQUENCE", "of steps", value)
    value = call("REVERSE_SEQUENCE", x(7, 3, 2), xi(2, draw="places"), batch_dim=2)
    yield Case("REVERSE_SEQUENCE", "computed lengths, fused", call("RELU", value))
    lengths = known(np.array([1, 0, 4], np.int64))
    value = typed("int32", "REVERSE_SEQUENCE", xi(2, 3, 5, 7), lengths, seq_dim=2, batch_dim=1)
    yield Case("REVERSE_SEQUENCE", "of integers, inner axes", value)
    operands = xq(3, 5, 7, dtype="uint8", zero=7), ints(5, 2, 4)
    value = quantized("REVERSE_SEQUENCE", *operands, dtype="uint8", zero=7, seq_dim=1)
    yield Case("REVERSE_SEQUENCE", "quantized", value)


TABLES = (pads, slices, strided_slices, splits, concatenations, transposes, diagonals, sequences)
