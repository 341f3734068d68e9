"""Situations of operators beyond the classic networks: integers, indices, matrices, norms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from case import Case
from cases_expanded import (
    bits,
    blocks,
    computed_weights,
    computed_weights_of_other_kinds,
    detections,
    dilations,
    experts,
    known_beforehand,
    quantized_weights,
    suppressions,
    transforms,
    updates,
)
from cases_values import kept_nan, largest_beside_nan, quotients
from expressions import Call, Part, Value, call, ints, known, largest, parts, typed, w, x, xi

from tflgpu.compiler.ir import Shape


def unary_operators() -> Iterator[Case]:
    for operator in ("CEIL", "COS", "ELU", "FLOOR", "GELU", "ROUND", "SIGN", "SIN"):
        for shape in ((2, 3, 5, 7), (2, 5, 32), (2, 3, 2, 2, 5), ()):
            draw = "with ties" if operator == "ROUND" else "normal"
            yield Case(operator, f"{shape}", call(operator, x(*shape, draw=draw)))
    yield Case("GELU", "approximate", call("GELU", x(3, 5, 7, draw="wide"), approximate=True))
    yield Case("GELU", "wide", call("GELU", x(3, 5, 7, draw="wide"), approximate=False))
    for operator in ("ABS", "NEG"):
        for dtype in ("int32", "int64"):
            if (operator, dtype) != ("ABS", "int64"):
                value = typed(dtype, operator, xi(3, 5, 7, dtype=dtype))
                yield Case(operator, dtype, value)
    yield Case("LOGICAL_NOT", "bool", typed("bool", "LOGICAL_NOT", xi(3, 5, 7, dtype="bool")))


BROADCASTS = (
    ((2, 3, 5, 19), (2, 3, 5, 19)),
    ((2, 3, 5, 19), (19,)),
    ((2, 3, 5, 19), ()),
    ((2, 3, 1, 19), (2, 1, 5, 1)),
    ((5, 1), (2, 3, 1, 17)),
    ((7, 2, 3, 1, 5), (2, 3, 5, 1)),
)
"""Pairs of shapes of the operands of a binary operator."""

COMPARISONS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")


def float_binary_operators() -> Iterator[Case]:
    draws = {
        "POW": ("positive", "normal"),
        "FLOOR_DIV": ("wide", "away from zero"),
        "FLOOR_MOD": ("wide", "away from zero"),
        "ATAN2": ("normal", "normal"),
    }
    for operator, (first_draw, second_draw) in draws.items():
        for first, second in BROADCASTS:
            if operator == "ATAN2" and first != second:
                continue
            if len(first) > 4:
                continue
            value = call(operator, x(*first, draw=first_draw), x(*second, draw=second_draw))
            yield Case(operator, f"{first} and {second}", value)
    powers = known(np.array([0.0, 1.0, 2.0, 3.0, -1.0, -2.0], np.float32))
    yield Case("POW", "of negative values", call("POW", x(5, 6), powers))


def integer_binary_operators() -> Iterator[Case]:
    arithmetic = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "FLOOR_DIV", "FLOOR_MOD", "DIV")
    for operator in (*arithmetic, *COMPARISONS, "SQUARED_DIFFERENCE"):
        for dtype in ("int32", "int64"):
            if dtype == "int64" and operator in ("DIV", "FLOOR_DIV", "SQUARED_DIFFERENCE"):
                continue
            result = "bool" if operator in COMPARISONS else dtype
            for first, second in BROADCASTS[:5]:
                # LiteRT fails on a divisor of zero.
                draw = "counts" if operator in ("DIV", "FLOOR_DIV", "FLOOR_MOD") else "small"
                operands = xi(*first, dtype=dtype), xi(*second, draw=draw, dtype=dtype)
                value = typed(result, operator, *operands)
                yield Case(operator, f"{dtype} {first} and {second}", value)
            constant = known(np.array([-7, 3, -2, 5, 9], dtype))
            value = typed(result, operator, xi(3, 5, dtype=dtype), constant)
            yield Case(operator, f"{dtype} and a constant", value)
            scalar = known(np.array(-3, dtype))
            value = typed(result, operator, xi(3, 5, dtype=dtype), scalar)
            yield Case(operator, f"{dtype} and a constant scalar", value)


def logic() -> Iterator[Case]:
    for operator in COMPARISONS:
        for first, second in BROADCASTS[:5]:
            value = typed(
                "bool", operator, x(*first, draw="with ties"), x(*second, draw="with ties")
            )
            yield Case(operator, f"{first} and {second}", value)
    for operator in ("LOGICAL_AND", "LOGICAL_OR"):
        for first, second in BROADCASTS[:5]:
            operands = xi(*first, dtype="bool"), xi(*second, dtype="bool")
            yield Case(operator, f"{first} and {second}", typed("bool", operator, *operands))
    flags = typed("bool", "EQUAL", xi(3, 5, dtype="bool"), xi(3, 5, dtype="bool"))
    yield Case("EQUAL", "bool", flags)


def selections() -> Iterator[Case]:
    for operator in ("SELECT", "SELECT_V2"):
        for dtype in ("float32", "int32", "int64", "bool"):
            for condition, operand in (((2, 3, 5, 7),) * 2, ((3,), (3, 5, 7)), ((), (5, 7))):
                if operator == "SELECT_V2" and condition == (3,):
                    continue
                chosen = [xi(*operand, dtype=dtype), xi(*operand, dtype=dtype)]
                if dtype == "float32":
                    chosen = [x(*operand), x(*operand)]
                value = typed(dtype, operator, xi(*condition, dtype="bool"), *chosen)
                yield Case(operator, f"{dtype} {condition} for {operand}", value)
    shapes = (((2, 1, 5, 7), (3, 1, 7), (2, 3, 5, 1)), ((5, 1), (), (7,)), ((1,), (2, 3), (2, 1)))
    for three in shapes:
        chooser, first, second = three
        value = call("SELECT_V2", xi(*chooser, dtype="bool"), x(*first), x(*second))
        yield Case("SELECT_V2", f"{chooser}, {first}, {second}", value)
    masked = call("SELECT_V2", typed("bool", "LESS", x(2, 5, 7), x(2, 1, 7)), x(2, 5, 7), w())
    yield Case("SELECT_V2", "where less", call("RELU", masked))


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
    yield Case("CUMSUM", "of integers", typed("int32", "CUMSUM", xi(3, 5), _axis(1)))
    yield Case("CUMSUM", "fused", call("RELU", call("CUMSUM", x(3, 5), _axis(1))))


def _axis(axis: int) -> Value:
    return known(np.array(axis, np.int32))


def matrices() -> Iterator[Case]:
    for turned_first in (False, True):
        for turned_second in (False, True):
            first = (7, 5) if turned_first else (5, 7)
            second = (11, 7) if turned_second else (7, 11)
            attrs = {"adj_x": turned_first, "adj_y": turned_second}
            for batch, other in (
                ((), ()),
                ((3,), (3,)),
                ((2, 3), (3,)),
                ((2, 1), (1, 3)),
                ((1,), (3,)),
            ):
                situation = f"{(*batch, *first)} {(*other, *second)} {attrs}"
                operands: tuple[Value, ...] = x(*batch, *first), x(*other, *second)
                yield Case("BATCH_MATMUL", situation, call("BATCH_MATMUL", *operands, **attrs))
            for batch, other in (((3,), ()), ((2, 3), ()), ((2, 3), (3,))):
                operands = x(*batch, *first), w(*other, *second)
                value = call("BATCH_MATMUL", *operands, **attrs)
                situation = f"{(*batch, *first)} constant {(*other, *second)} {attrs}"
                yield Case("BATCH_MATMUL", situation, value)
                operands = w(*other, *first), x(*batch, *second)
                value = call("BATCH_MATMUL", *operands, **attrs)
                situation = f"constant {(*other, *first)} {(*batch, *second)} {attrs}"
                yield Case("BATCH_MATMUL", situation, value)
    deep = call("BATCH_MATMUL", x(2, 1, 3, 5, 7), x(1, 3, 7, 5), adj_x=False, adj_y=False)
    yield Case("BATCH_MATMUL", "rank 5", deep)
    weights = call("ABS", w(11, 7))
    computed = call("MUL", x(11, 7), weights)
    for bias in (None, w(11), x(11)):
        value = call("FULLY_CONNECTED", x(3, 7), computed, bias)
        yield Case("FULLY_CONNECTED", f"computed weights {type(bias).__name__}", value)
    activated = call(
        "FULLY_CONNECTED",
        x(2, 3, 7),
        computed,
        w(11),
        keep_num_dims=True,
        fused_activation_function="RELU6",
    )
    yield Case("FULLY_CONNECTED", "computed weights, rank 3", activated)


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


def shared_kernels() -> Iterator[Case]:
    """A kernel that computes a depthwise convolution, too, or stores a value on the way."""
    for batch, channels, stride in ((2, 5, 1), (1, 11, 2)):
        image, steps = x(batch, 9, 7, channels), {"stride_h": stride, "stride_w": stride}
        taps = w(1, 3, 3, channels), w(channels)
        near = call("DEPTHWISE_CONV_2D", image, *taps, padding="SAME", depth_multiplier=1, **steps)
        weights = w(7, 1, 1, channels), w(7)
        unit = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
        value = call("RELU6", call("CONV_2D", call("RELU", near), *weights, **unit))
        yield Case("DEPTHWISE_CONV_2D", f"thin, stride {stride}", value)
    value = call("SIN", call("CONV_2D", x(1, 5, 7, 3), w(6, 1, 1, 3), w(6), **unit))
    twice = [call("CONV_2D", call("PRELU", value, w(1, 1, 6)), w(5, 1, 1, 6), w(5), **unit)]
    twice.append(
        call(
            "SPACE_TO_DEPTH",
            call("PAD", value, known(np.array([(0, 0), (0, 1), (1, 0), (0, 0)], np.int32))),
            block_size=2,
        )
    )
    yield Case("PRELU", "of a value stored twice", twice)


def casts() -> Iterator[Case]:
    kinds = ("float32", "int32", "int64", "bool", "int8", "uint8", "int16")
    for source in kinds:
        for target in kinds:
            # What does not fit is not defined for floats.
            draw = "small" if target not in ("uint8",) else "counts"
            operand = x(3, 5, 7) if source == "float32" else xi(3, 5, 7, draw=draw, dtype=source)
            if (source, target) == ("float32", "uint8"):
                operand = x(3, 5, 7, draw="positive")
            attrs = {"in_data_type": source, "out_data_type": target}
            yield Case("CAST", f"{source} to {target}", typed(target, "CAST", operand, **attrs))
    for target in ("int8", "uint8", "int16"):
        attrs = {"in_data_type": "int32", "out_data_type": target}
        value = typed(target, "CAST", xi(5, 7, draw="large"), **attrs)
        yield Case("CAST", f"large int32 to {target}", value)
    attrs = {"in_data_type": "int32", "out_data_type": "float32"}
    yield Case("CAST", "fused", call("MUL", call("CAST", xi(5, 7), **attrs), w(7)))


def everything() -> Iterator[Case]:
    """All of them."""
    for table in (
        unary_operators,
        float_binary_operators,
        integer_binary_operators,
        logic,
        selections,
        repetitions,
        moves_of_integers,
        places,
        searches,
        matrices,
        integer_reductions,
        norms,
        shared_kernels,
        casts,
        bits,
        blocks,
        detections,
        dilations,
        experts,
        computed_weights,
        computed_weights_of_other_kinds,
        suppressions,
        transforms,
        updates,
        known_beforehand,
        quantized_weights,
        kept_nan,
        largest_beside_nan,
        quotients,
    ):
        yield from table()
