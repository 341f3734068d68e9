"""Layers of which the weights alone are quantized, or packed: two or four bits, or in blocks."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from graphs import (
    Call,
    Constant,
    Value,
    affine,
    call,
    ints,
    known,
    number,
    quantized,
    reshape,
    w,
    x,
    xi,
    xq,
)

from tflgpu.compiler.ir import Blocks, Quantization, Shape, constant

from . import norms
from .attention import attention, in_front
from .case import Case
from .convolutions import window
from .quantized_layers import bias, row, weights


def weights_alone() -> Iterator[Case]:
    """Floats that are quantized while the model runs."""
    plain = {"fused_activation_function": "RELU"}
    filters = weights((1, 3, 3, 13), 3)
    attrs = {**window(), "depth_multiplier": 1, **plain}
    value = call("DEPTHWISE_CONV_2D", x(2, 7, 5, 13), filters, w(13), **attrs)
    yield row("weights", "DEPTHWISE_CONV_2D", value)
    for channels in (True, False):
        how = "by channel" if channels else "as a whole"
        layer = weights((19, 37), channels=channels)
        value = call("FULLY_CONNECTED", x(5, 37), layer, w(19), **plain)
        yield row("weights", f"FULLY_CONNECTED {how}", value)
        value = call("FULLY_CONNECTED", x(1, 132), weights((83, 132), channels=channels), w(83))
        yield row("weights", f"FULLY_CONNECTED of a row {how}", value)
        deep = weights((19, 1700), channels=channels)
        value = call("FULLY_CONNECTED", x(3, 1700), deep, None)
        yield row("weights", f"FULLY_CONNECTED of large sums {how}", value)
        value = call("FULLY_CONNECTED", x(3, 4, 5, 7), weights((19, 70), channels=channels), None)
        yield row("weights", f"FULLY_CONNECTED of images {how}", value)
        short = call("SLICE", call("TANH", x(5, 40)), ints(0, 32), ints(5, 3))
        value = call("FULLY_CONNECTED", short, weights((19, 3), channels=channels), w(19))
        yield row("weights", f"FULLY_CONNECTED of short rows {how}", value)
        for size in (1, 3):
            filters = weights((19, size, size, 7), channels=channels)
            value = call("CONV_2D", x(2, 5, 7, 7), filters, w(19), **window(), **plain)
            yield row("weights", f"CONV_2D of {size} {how}", value)
            filters = weights((10, size, size, 7), channels=channels)
            value = call("CONV_2D", x(2, 5, 7, 14), filters, w(10), **window(), **plain)
            yield row("weights", f"CONV_2D of {size} in groups {how}", value)
        filters = weights((19, 2, 4, 32), channels=channels)
        attrs = {**window(stride=(2, 1)), **plain}
        value = call("CONV_2D", x(2, 9, 7, 32), filters, w(19), **attrs)
        yield row("weights", f"CONV_2D of even sizes {how}", value)
        filters = weights((19, 3, 3, 300), channels=channels)
        value = call("CONV_2D", x(2, 7, 5, 300), filters, w(19), **window(), **plain)
        yield row("weights", f"CONV_2D of large sums {how}", value)
        transposed: tuple[tuple[str, Shape, int, Shape, int], ...] = (
            ("SAME", (4, 3), 2, (10, 14), 7),
            ("VALID", (3, 5), 2, (11, 17), 7),
            ("SAME", (3, 3), 1, (5, 7), 7),
            ("SAME", (8, 8), 7, (35, 49), 3),
            ("VALID", (2, 2), 2, (10, 14), 1200),
        )
        for padding, sides, steps, output, inputs in transposed:
            filters = weights((19, *sides, inputs), channels=channels)
            operands = ints(2, *output, 19), filters, x(2, 5, 7, inputs), w(19)
            around = {"padding": padding, "stride_h": steps, "stride_w": steps, **plain}
            value = call("TRANSPOSE_CONV", *operands, **around)
            yield row("weights", f"TRANSPOSE_CONV {padding} {sides} by {steps} {how}", value)
        rows = norms.layers(x(5, 576), (1,), w(576), w(576))
        value = call("FULLY_CONNECTED", rows, weights((19, 576), channels=channels), w(19))
        yield row("weights", f"FULLY_CONNECTED of normalized rows {how}", value)


def weights_that_are_computed() -> Iterator[Case]:
    """Floats that are quantized while the model runs, by computed weights or with a computed bias.

    LiteRT's code for SSE loses products of -128, which these weights do not have.
    """
    least = known(np.array([-127], np.int8), affine(0.02))

    def computed(*shape: int, axis: int | None) -> Value:
        how = affine(0.02)
        if axis is not None:
            count = shape[axis]
            scales = 0.002 * np.arange(1, count + 1, dtype=np.float32)
            how = Quantization(tuple(map(float, scales)), (0,) * count, axis)
        integers = quantized("MAXIMUM", xq(*shape, scale=0.02), least, scale=0.02)
        return Call("RESHAPE", (integers, ints(*shape)), dtype="int8", quantization=how)

    for axis in (0, None):
        how = "by channel" if axis == 0 else "as a whole"
        for zero in (False, True):
            attrs = {"asymmetric_quantize_inputs": zero, "fused_activation_function": "RELU"}
            situation = f"{how}, with zero points {zero}"
            value = call("FULLY_CONNECTED", x(5, 37), computed(19, 37, axis=axis), w(19), **attrs)
            yield row("computed weights", f"FULLY_CONNECTED of floats {situation}", value)
            layer = weights((19, 37), channels=axis == 0)
            value = call("FULLY_CONNECTED", x(5, 37), layer, x(19), **attrs)
            yield row("computed weights", f"FULLY_CONNECTED, computed bias, {situation}", value)
        image = x(2, 5, 7, 13)
        value = call("CONV_2D", image, computed(19, 3, 2, 13, axis=axis), w(19), **window())
        yield row("computed weights", f"CONV_2D of floats {how}", value)
        filters = weights((19, 3, 2, 13), channels=axis == 0)
        value = call("CONV_2D", image, filters, x(19), **window())
        yield row("computed weights", f"CONV_2D, computed bias, {how}", value)
        around = {"padding": "SAME", "stride_h": 2, "stride_w": 2}
        operands = (ints(2, 10, 14, 19), computed(19, 3, 2, 13, axis=axis), image, w(19))
        value = call("TRANSPOSE_CONV", *operands, **around)
        yield row("computed weights", f"TRANSPOSE_CONV of floats {how}", value)
    deep = {**window(), "depth_multiplier": 1}
    for kernel in (computed(1, 3, 3, 13, axis=3), weights((1, 3, 3, 13), 3)):
        value = call("DEPTHWISE_CONV_2D", image, kernel, x(13), **deep)
        situation = f"DEPTHWISE_CONV_2D of floats, computed bias {type(kernel).__name__}"
        yield row("computed weights", situation, value)


def packed_weights() -> Iterator[Case]:
    """XNNPACK takes those of fully connected layers alone, in rows of whole bytes."""
    plain: dict[str, Any] = {"fused_activation_function": "NONE"}
    result: dict[str, Any] = {"scale": 0.02, "zero": 3}
    for inputs in (36, 37):
        layer = weights((19, inputs), dtype="int4")
        rows = (xq(31, inputs, zero=-7), layer, bias(layer, 19))
        value = quantized("FULLY_CONNECTED", *rows, **result, **plain)
        yield row("packed weights", f"FULLY_CONNECTED int8 of {inputs}", value)
        value = call("FULLY_CONNECTED", x(5, inputs), layer, w(19), **plain)
        yield row("packed weights", f"FULLY_CONNECTED of {inputs} floats", value)
        value = call("FULLY_CONNECTED", x(5, inputs, 1), layer, w(19), **plain)
        yield row("packed weights", f"FULLY_CONNECTED of columns of {inputs}", value)
    for inputs, channels in ((36, True), (36, False), (37, True), (38, False)):
        layer = weights((19, inputs), channels=channels, dtype="int2")
        situation = f"FULLY_CONNECTED by {'channels' if channels else 'all'} of {inputs} of 2 bits"
        rows = (xq(31, inputs, zero=-7), layer, bias(layer, 19))
        value = quantized("FULLY_CONNECTED", *rows, **result, **plain)
        yield row("packed weights", f"{situation}, int8", value)
        for asked in (True, False):
            attrs: dict[str, Any] = {**plain, "asymmetric_quantize_inputs": asked}
            value = call("FULLY_CONNECTED", x(5, inputs), layer, w(19), **attrs)
            yield row("packed weights", f"{situation}, floats, zero point {asked}", value)
    image = xq(2, 7, 5, 12, zero=-7)
    for dtype, wide in (("int8", "int32"), ("int16", "int32"), ("int16", "int64")):
        for groups in (1, 2):
            filters = weights((20, 3, 2, 12 // groups), dtype="int4")
            operand = image if dtype == "int8" else xq(2, 7, 5, 12, dtype="int16")
            operands = (operand, filters, bias(filters, 20, wide))
            kind: dict[str, Any] = result if dtype == "int8" else {"scale": 0.02, "dtype": dtype}
            kind = {**kind, **plain, "quantized_bias_type": wide}
            value = quantized("CONV_2D", *operands, **kind, **window())
            situation = f"CONV_2D {dtype} of {groups} groups with bias {wide}"
            yield row("packed weights", situation, value)
    filters = weights((20, 3, 2, 12), dtype="int4")
    value = call("CONV_2D", x(2, 7, 5, 12), filters, w(20), **window(), **plain)
    yield row("packed weights", "CONV_2D of floats", value)
    filters = weights((20, 3, 2, 6), dtype="int4")
    value = call("CONV_2D", x(2, 7, 5, 12), filters, w(20), **window(), **plain)
    yield row("packed weights", "CONV_2D of floats in groups", value)
    filters = weights((20, 1, 1, 6), dtype="int4")
    value = call("CONV_2D", x(2, 7, 5, 12), filters, w(20), **window(), **plain)
    yield row("packed weights", "CONV_2D of single pixels in groups", value)
    filters = weights((1, 3, 3, 12), 3, dtype="int4")
    attrs = {**window(), "depth_multiplier": 1, **plain}
    value = quantized("DEPTHWISE_CONV_2D", image, filters, bias(filters, 12), **result, **attrs)
    yield row("packed weights", "DEPTHWISE_CONV_2D", value)
    packed = known(np.arange(270).reshape(9, 3, 10).astype(np.int8) % 15 - 7, affine(0.3), "int4")
    gathered = quantized("GATHER", packed, xi(5, draw="counts"), dtype="int4", scale=0.3, axis=0)
    yield row("packed weights", "GATHER", gathered)
    yield row("packed weights", "GATHER to floats", call("DEQUANTIZE", gathered))
    for dtype in ("int8", "uint8"):
        table = known(np.arange(126).reshape(9, 2, 7).astype(dtype), affine(0.3, 5))
        alike: dict[str, Any] = {"dtype": dtype, "scale": 0.3, "zero": 5}
        found = quantized("GATHER", table, xi(2, 5, draw="counts"), axis=0, **alike)
        yield row("packed weights", f"GATHER of {dtype}", call("DEQUANTIZE", found))
        found = quantized("TANH", found, dtype=dtype, scale=1 / 128, zero=128 * (dtype == "uint8"))
        yield row("packed weights", f"GATHER of {dtype} for a function", found)
    found = quantized("EMBEDDING_LOOKUP", xi(5, draw="counts"), packed, dtype="int4", scale=0.3)
    yield row("packed weights", "EMBEDDING_LOOKUP of int4 to int4", found)
    for dtype, kept in (("int8", "int8"), ("int8", "uint8"), ("uint8", "int8"), ("int16",) * 2):
        table = known(np.arange(-63, 63).reshape(9, 14).astype(dtype), affine(0.1))
        found = quantized("EMBEDDING_LOOKUP", xi(5, draw="counts"), table, dtype=kept)
        yield row("packed weights", f"EMBEDDING_LOOKUP of {dtype} to {kept}", found)
    for dtype in ("int2", "int4", "int8"):
        value = call("EMBEDDING_LOOKUP", xi(5, draw="counts"), weights((9, 20), dtype=dtype))
        yield row("packed weights", f"EMBEDDING_LOOKUP of {dtype}", value)
        table = weights((9, 2, 6), dtype=dtype, channels=False)
        value = call("EMBEDDING_LOOKUP", xi(5, draw="counts"), table)
        yield row("packed weights", f"EMBEDDING_LOOKUP of {dtype} with a single scale", value)


def blocks_of_weights() -> Iterator[Case]:
    """Of 4 bits; XNNPACK takes blocks of a multiple of 32, LiteRT's own kernels others."""
    for size, inputs in ((32, 96), (64, 64), (16, 48)):
        for rows in (1, 5, 61):
            value = call("FULLY_CONNECTED", x(rows, inputs), in_blocks((19, inputs), size), w(19))
            situation = f"FULLY_CONNECTED of {rows} rows in blocks of {size}"
            yield row("blocks of weights", situation, value)
    operands = (x(2, 3, 1, 5, 64), in_blocks((19, 64), 32), w(19))
    value = call("FULLY_CONNECTED", *operands, keep_num_dims=True)
    yield row("blocks of weights", "FULLY_CONNECTED of rank 5", value)
    for dtype in ("int4", "int2"):
        value = call("EMBEDDING_LOOKUP", xi(5, draw="counts"), in_blocks((9, 64), 32, dtype))
        yield row("blocks of weights", f"EMBEDDING_LOOKUP of {dtype}", value)


def in_blocks(shape: Shape, size: int, dtype: str = "int4") -> Constant:
    """Constant weights of 4 or 2 bits, each block of which has a scale."""
    random = np.random.default_rng(9)
    scales = random.uniform(0.001, 0.004, (shape[0], shape[1] // size)).astype(np.float16)
    least = -8 if dtype == "int4" else -2
    values = random.integers(least, -least, shape).astype(np.int8)
    own = Blocks(size, constant("scales", scales), None)
    return Constant(shape, values=values, dtype=dtype, blocks=own)


# Weights of layers of 64 inputs, by how they are stored.
TABLES_OF_WEIGHTS: dict[str, Callable[[int], Value]] = {
    "int8": lambda outputs: weights((outputs, 64)),
    "int4": lambda outputs: weights((outputs, 64), dtype="int4"),
    "blocks of int4": lambda outputs: in_blocks((outputs, 64), 32),
    "floats": lambda outputs: w(outputs, 64),
}


def tied_tables() -> Iterator[Case]:
    """The weights of a layer are the table of what it reads, too."""
    tables = {name: table(83) for name, table in TABLES_OF_WEIGHTS.items()}
    for dtype, columns in (("int8", 37), ("int4", 36), ("int4", 70)):
        tables[f"{dtype} of {columns} columns"] = weights((83, columns), dtype=dtype)
    few = np.random.default_rng(9).integers(-7, 8, (83, 64)).astype(np.int8)
    tables["int8 of small numbers"] = known(few, weights((83, 64)).quantization)
    for name, table in tables.items():
        for rows in (1, 5):
            found = call("EMBEDDING_LOOKUP", xi(rows, draw="counts"), table)
            layer = call("FULLY_CONNECTED", found, table, None)
            yield row("tied tables", f"{name}, {rows} rows", layer)
    found = call("GATHER", tables["floats"], xi(5, draw="counts"), axis=0)
    layer = call("FULLY_CONNECTED", found, tables["floats"], None)
    yield row("tied tables", "floats, by GATHER", layer)
    for dtype, low, high in (("int8", -128, 128), ("int8", -7, 8), ("uint8", 0, 256)):
        numbers = np.random.default_rng(9).integers(low, high, (83, 64)).astype(dtype)
        alike: dict[str, Any] = {"dtype": dtype, "scale": 0.02}
        table = known(numbers, affine(0.02))
        found = quantized("GATHER", table, xi(5, draw="counts"), axis=0, **alike)
        layer = quantized("FULLY_CONNECTED", found, table, None, dtype=dtype, scale=0.5)
        yield row("tied tables", f"{dtype} of numbers from {low}", layer)


def gates() -> Iterator[Case]:
    """Two layers of floats, of which one decides how much of the other's result remains."""
    for name, table in TABLES_OF_WEIGHTS.items():
        for rows, outputs in ((1, 19), (61, 85)):
            source, added = x(rows, 64), (None, w(outputs))
            gate, let = (call("FULLY_CONNECTED", source, table(outputs), b) for b in added)
            opened = call("MUL", gate, call("LOGISTIC", gate))
            value = call("ADD", call("MUL", opened, let), x(rows, outputs))
            yield row("gates", f"of {rows} rows by weights that are {name}", value)


def projected(table: Callable[[int], Value], count: int, cached: bool = False) -> Value:
    """Attention of so many rows, four heads of queries and two of keys and values, which are put
    into a cache if `cached`."""
    rows = x(1, count, 64)
    heads = (4, 2, 2)
    layers = [
        call("FULLY_CONNECTED", rows, table(16 * n), w(16 * n), keep_num_dims=True) for n in heads
    ]
    q, *kept = (in_front(each, 1, count, n, 16) for each, n in zip(layers, heads, strict=True))
    if cached:
        start = known(np.array([0, 0, 3, 0], np.int32))
        kept = [call("DYNAMIC_UPDATE_SLICE", x(1, 2, 23, 16), each, start) for each in kept]
        count = 23
    parts = [reshape(each, 1, 2, 1, count, 16) for each in kept]
    repeated = [call("BROADCAST_TO", each, ints(1, 2, 2, count, 16)) for each in parts]
    k, v = (reshape(each, 1, 4, count, 16) for each in repeated)
    return attention(q, k, v)


def projections() -> Iterator[Case]:
    for name, table in TABLES_OF_WEIGHTS.items():
        yield row("projections", f"by weights that are {name}", projected(table, 19))
        cached = projected(table, 1, cached=True)
        yield row("projections", f"into a cache by weights that are {name}", cached)


def normalized_rows() -> Iterator[Case]:
    """Layers by weights alone of rows that are normalized."""
    for name, norm in {"norms": norms.layers, "root mean squares": norms.root_mean_square}.items():
        for channels in (64, 37):
            for gain, offset in ((w(channels), w(channels)), (number(1), number(0))):
                rows = norm(x(1, 23, channels), (2,), gain, offset)
                what = "with a gain" if gain.shape else "alone"
                value = call(
                    "FULLY_CONNECTED", rows, weights((19, channels)), w(19), keep_num_dims=True
                )
                yield row("weights", f"after {name} {what} of {channels} channels", value)
        rows = norm(x(1, 1, 64), (2,), w(64), w(64))
        both = (call("FULLY_CONNECTED", rows, in_blocks((n, 64), 32), None) for n in (19, 1))
        yield row("weights", f"by two blocks of int4 after {name}", call("MUL", *both))


TABLES = (
    *(
        weights_alone,
        packed_weights,
        blocks_of_weights,
        tied_tables,
        gates,
        projections,
        normalized_rows,
    ),
    weights_that_are_computed,
)
