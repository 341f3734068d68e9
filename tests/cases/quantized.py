"""Quantized operators: a row for each formula that LiteRT has, and for the limits between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import (
    Constant,
    Input,
    Value,
    call,
    ints,
    known,
    number,
    quantized,
    table,
    typed,
    w,
    x,
    xq,
)

from tflgpu.compiler.ir import Quantization, Shape

from .case import ACTIVATIONS, Case
from .convolutions import window

EIGHT_BITS = (("int8", -7), ("uint8", 131))
ALL = (*EIGHT_BITS, ("int16", 0))
"""Types, each with a zero point."""


def weights(shape: Shape, axis: int = 0, channels: bool = True, dtype: str = "int8") -> Constant:
    """Constant weights, mostly with a scale for each channel."""
    random = np.random.default_rng(7)
    count = shape[axis] if channels else 1
    powers = random.uniform(-2, 2, count)
    scales = tuple(map(float, (0.002 * 2.0**powers).astype(np.float32)))
    limits = np.iinfo(dtype)
    values = random.integers(limits.min + 1, limits.max, shape, np.dtype(dtype), endpoint=True)
    return known(values, Quantization(scales, (3 if dtype == "uint8" else 0,) * count, axis))


def bias(filters: Constant, count: int, dtype: str = "int32") -> Constant:
    """A bias in the scale of the sums, of operands with a scale of 0.05."""
    assert filters.quantization is not None
    scales = tuple(float(np.float32(0.05) * np.float32(n)) for n in filters.quantization.scale)
    values = np.random.default_rng(8).integers(-5000, 5000, count).astype(dtype)
    return known(values, Quantization(scales, (0,) * len(scales)))


def row(what: str, situation: str, value: Value) -> Case:
    return Case(f"quantized {what}", situation, value, delegates=True)


def layers() -> Iterator[Case]:
    for dtype, zero in ALL:
        kind: dict[str, Any] = {"dtype": dtype, "scale": 0.05, "zero": zero}
        result: dict[str, Any] = {
            "dtype": dtype,
            "scale": 0.4,
            "zero": -zero if dtype == "int8" else zero,
        }
        own = "uint8" if dtype == "uint8" else "int8"
        wide = "int64" if dtype == "int16" else "int32"
        channels = dtype != "uint8"
        options: dict[str, Any] = {"fused_activation_function": "RELU6"}
        options["quantized_bias_type"] = wide
        image = xq(2, 7, 5, 13, **kind)
        filters = weights((19, 3, 2, 13), channels=channels, dtype=own)
        value = quantized(
            "CONV_2D", image, filters, bias(filters, 19, wide), **result, **window(), **options
        )
        yield row("layers", f"CONV_2D {dtype}", value)
        filters = weights((1, 3, 3, 13), 3, channels, own)
        attrs: dict[str, Any] = {
            **window(),
            "depth_multiplier": 1,
            "fused_activation_function": "RELU6",
        }
        value = quantized(
            "DEPTHWISE_CONV_2D", image, filters, bias(filters, 13, wide), **result, **attrs
        )
        yield row("layers", f"DEPTHWISE_CONV_2D {dtype}", value)
        filters = weights((17, 37), channels=False, dtype=own)
        for form in dict.fromkeys((wide, "int32")):
            attrs = {"fused_activation_function": "NONE", "quantized_bias_type": form}
            rows = (xq(5, 37, **kind), filters, bias(filters, 17, form))
            value = quantized("FULLY_CONNECTED", *rows, **result, **attrs)
            yield row("layers", f"FULLY_CONNECTED {dtype} with bias {form}", value)
            filters_of = weights((19, 3, 3, 13), channels=channels, dtype=own)
            attrs |= {"padding": "SAME", "stride_h": 2, "stride_w": 2}
            operands = (ints(2, 14, 10, 19), filters_of, image, bias(filters_of, 19, form))
            value = quantized("TRANSPOSE_CONV", *operands, **result, **attrs)
            yield row("layers", f"TRANSPOSE_CONV {dtype} with bias {form}", value)
    gaps: dict[str, Any] = {
        "padding": "SAME",
        "stride_h": 3,
        "stride_w": 3,
        "fused_activation_function": "NONE",
    }
    filters = weights((19, 2, 2, 7))
    operands = (ints(2, 15, 15, 19), filters, xq(2, 5, 5, 7), bias(filters, 19))
    value = quantized("TRANSPOSE_CONV", *operands, scale=0.2, **gaps)
    yield row("layers", "TRANSPOSE_CONV with gaps", value)
    many = weights((5, 1201), channels=False)
    value = quantized(
        "FULLY_CONNECTED", xq(3, 1201, zero=-128), many, bias(many, 5), scale=2.0, zero=9
    )
    yield row("layers", "FULLY_CONNECTED of sums above 2^24", value)
    for zero in (0, 5):
        pair = (xq(2, 7, 19, zero=4), xq(2, 19, 11, zero=zero))
        value = quantized("BATCH_MATMUL", *pair, scale=0.3, adj_x=False, adj_y=False)
        yield row("layers", f"BATCH_MATMUL with second zero point {zero}", value)
    wide_pair = (xq(2, 7, 19, dtype="int16"), xq(2, 11, 19, dtype="int16"))
    value = quantized(
        "BATCH_MATMUL", *wide_pair, dtype="int16", scale=40.0, adj_x=False, adj_y=True
    )
    yield row("layers", "BATCH_MATMUL int16", value)


def weights_alone() -> Iterator[Case]:
    """Floats that are quantized while the model runs."""
    plain = {"fused_activation_function": "RELU"}
    for channels in (True, False):
        how = "by channel" if channels else "as a whole"
        layer = weights((19, 37), channels=channels)
        value = call("FULLY_CONNECTED", x(5, 37), layer, w(19), **plain)
        yield row("weights", f"FULLY_CONNECTED {how}", value)
        for size in (1, 3):
            filters = weights((19, size, size, 7), channels=channels)
            value = call("CONV_2D", x(2, 5, 7, 7), filters, w(19), **window(), **plain)
            yield row("weights", f"CONV_2D of {size} {how}", value)


def arithmetic() -> Iterator[Case]:
    for dtype, zero in ALL:
        first = xq(3, 5, 19, dtype=dtype, scale=0.03, zero=zero)
        second = xq(19, dtype=dtype, scale=0.07, zero=zero)
        for operator in ("ADD", "SUB"):
            for activation in ACTIVATIONS if dtype != "int16" else ("NONE",):
                attrs = {"fused_activation_function": activation, "pot_scale_int16": False}
                value = quantized(
                    operator, first, second, dtype=dtype, scale=0.1, zero=zero, **attrs
                )
                yield row("arithmetic", f"{operator} {dtype} {activation}", value)
        value = quantized("ADD", first, second, dtype=dtype, scale=64.0, zero=zero)
        yield row("arithmetic", f"ADD {dtype} beyond XNNPACK", value)
        scale = 0.03 * 0.07 * (16384 if dtype == "int16" else 64)
        for situation, factor in (("", 1.0), (" beyond XNNPACK", 2.0**15)):
            value = quantized(
                "MUL", first, second, dtype=dtype, scale=float(scale * factor), zero=zero
            )
            yield row("arithmetic", f"MUL {dtype}{situation}", value)
        alike = xq(19, dtype=dtype, scale=0.03, zero=zero)
        for operator in ("MAXIMUM", "MINIMUM"):
            value = quantized(operator, first, alike, dtype=dtype, scale=0.03, zero=zero)
            yield row("arithmetic", f"{operator} {dtype}", value)
        for operator in ("LESS", "EQUAL"):
            yield row("arithmetic", f"{operator} {dtype}", typed("bool", operator, first, second))
    for dtype, zero in EIGHT_BITS:
        large = xq(19, dtype=dtype, scale=2.5, zero=zero)
        value = typed("bool", "GREATER", xq(3, 19, dtype=dtype, scale=1.7, zero=zero), large)
        yield row("arithmetic", f"GREATER {dtype} of scales above one", value)
        slopes = xq(1, 19, dtype=dtype, scale=0.004, zero=zero)
        value = quantized("PRELU", xq(3, 5, 19, dtype=dtype), slopes, dtype=dtype, scale=0.06)
        yield row("arithmetic", f"PRELU {dtype}", value)
    divisors = np.where(np.arange(19) == 9, 1, np.arange(19) - 9).astype(np.int8)
    constant = known(divisors, Quantization((0.5,), (0,)))
    value = quantized("DIV", xq(3, 5, 19, zero=4), constant, scale=0.02, zero=1)
    yield row("arithmetic", "DIV", value)
    value = quantized("SQUARED_DIFFERENCE", xq(3, 19), xq(19, scale=0.09, zero=5), scale=0.3)
    yield row("arithmetic", "SQUARED_DIFFERENCE", value)
    for operator in ("ADD", "SUB"):
        one = known(np.array(12345, np.int16), Quantization((0.0003,), (0,)))
        operand = xq(2, 5, 7, dtype="int16", scale=0.0004)
        value = quantized(operator, operand, one, dtype="int16", scale=0.0005)
        yield row("arithmetic", f"{operator} int16 of a constant", value)


def functions() -> Iterator[Case]:
    fixed = {"LOGISTIC": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0)}}
    fixed["TANH"] = {"int8": (1 / 128, 0), "uint8": (1 / 128, 128)}
    for operator, kinds in fixed.items():
        for dtype, (scale, zero) in kinds.items():
            value = quantized(operator, xq(256, dtype=dtype), dtype=dtype, scale=scale, zero=zero)
            yield row("functions", f"{operator} {dtype}", value)
        for scale in (2.0**-12, 2.0**-11, 0.0003):
            operand = xq(3001, dtype="int16", scale=scale)
            value = quantized(operator, operand, dtype="int16", scale=2.0**-15)
            yield row("functions", f"{operator} int16 of {scale:.5f}", value)
    for operator in ("ABS", "ELU", "EXP", "HARD_SWISH", "NEG", "RELU", "RELU6", "RELU_N1_TO_1"):
        value = quantized(operator, xq(256, zero=-3), scale=0.03, zero=11)
        yield row("functions", operator, value)
    value = quantized("LOGISTIC", xq(256, scale=20.0), scale=1 / 256, zero=-128)
    yield row("functions", "LOGISTIC of hundreds", value)
    for operator in ("LOG", "RSQRT", "SQRT"):
        value = quantized(operator, xq(256, zero=-128), scale=0.03, zero=-100)
        yield row("functions", operator, value)
    for dtype, zero in ALL:
        for alpha in (0.3, -0.2, 0.0001):
            operand = xq(5, 257, dtype=dtype, zero=zero)
            value = quantized(
                "LEAKY_RELU", operand, dtype=dtype, scale=0.07, zero=zero, alpha=alpha
            )
            yield row("functions", f"LEAKY_RELU {dtype} {alpha}", value)


def ends() -> Iterator[Case]:
    for target, zero in ALL:
        value = quantized("QUANTIZE", x(3, 37, draw="wide"), dtype=target, scale=0.2, zero=zero)
        yield row("ends", f"QUANTIZE float32 to {target}", value)
        for source, other in ALL:
            if (source, target) != ("int16", "uint8"):
                operand: Input = xq(5, 37, dtype=source, scale=0.031, zero=other)
                value = quantized("QUANTIZE", operand, dtype=target, scale=0.07, zero=zero)
                yield row("ends", f"QUANTIZE {source} to {target}", value)
        value = call("DEQUANTIZE", xq(5, 37, dtype=target, zero=zero))
        yield row("ends", f"DEQUANTIZE {target}", value)


def axes() -> Iterator[Case]:
    """Operators over axes, and those that move integers."""
    for dtype, zero in EIGHT_BITS:
        kind: dict[str, Any] = {"dtype": dtype, "scale": 0.05, "zero": zero}
        image = xq(2, 7, 5, 19, **kind)
        other: dict[str, Any] = {**kind, "scale": 0.08}
        for operator in ("MEAN", "SUM"):
            value = quantized(operator, image, ints(1, 2), **other, keep_dims=True)
            yield row("axes", f"{operator} {dtype}", value)
        large = xq(1, 367, 359, 5, **{**kind, "zero": 0 if dtype == "int8" else 128})
        value = quantized("MEAN", large, ints(1, 2), **{**kind, "scale": 0.0004}, keep_dims=True)
        yield row("axes", f"MEAN of sums above 2^24 {dtype}", value)
        for operator in ("REDUCE_MAX", "REDUCE_MIN"):
            value = quantized(operator, image, ints(3), **kind, keep_dims=False)
            yield row("axes", f"{operator} {dtype}", value)
        last: dict[str, Any] = {"axis": 3, "fused_activation_function": "NONE"}
        # LiteRT refuses int8 operands of unlike scales.
        joined = xq(2, 7, 5, 3, **(other if dtype == "uint8" else kind))
        value = quantized("CONCATENATION", image, joined, **kind, **last)
        yield row("axes", f"CONCATENATION {dtype}", value)
        value = quantized("RESIZE_BILINEAR", image, ints(13, 4), **kind, half_pixel_centers=True)
        yield row("axes", f"RESIZE_BILINEAR {dtype}", value)
        whole = {"int8": -128, "uint8": 0}[dtype]
        value = quantized("SOFTMAX", image, dtype=dtype, scale=1 / 256, zero=whole, beta=1.0)
        yield row("axes", f"SOFTMAX {dtype}", value)
        place = typed("int32", "ARG_MAX", image, number(3, "int32"), output_type="int32")
        yield row("axes", f"ARG_MAX {dtype}", place)
    for count, scale in ((19, 0.0003), (257, 0.00005), (1, 0.001), (37, 0.1)):
        operand = xq(5, count, dtype="int16", scale=scale)
        value = quantized("SOFTMAX", operand, dtype="int16", scale=2.0**-15, beta=1.0)
        yield row("axes", f"SOFTMAX int16 of {count}", value)
    for dtype, zero in ALL:
        kind = {"dtype": dtype, "scale": 0.05, "zero": zero}
        image = xq(2, 7, 5, 19, **kind)
        for activation in ACTIVATIONS:
            pool: dict[str, Any] = {"padding": "SAME", "stride_h": 2, "stride_w": 1}
            pool |= {"filter_height": 3, "filter_width": 2, "fused_activation_function": activation}
            for operator in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
                value = quantized(operator, image, **kind, **pool)
                yield row("axes", f"{operator} {dtype} {activation}", value)
        finer: dict[str, Any] = {**kind, "scale": 0.03}
        value = quantized("MEAN", image, ints(1, 2), **finer, keep_dims=True)
        yield row("axes", f"MEAN to a finer scale {dtype}", value)
        value = quantized("PAD", image, table((0, 0), (1, 2), (0, 1), (3, 0)), **kind)
        yield row("axes", f"PAD {dtype}", value)
        yield row(
            "axes", f"TRANSPOSE {dtype}", quantized("TRANSPOSE", image, ints(0, 3, 1, 2), **kind)
        )


TABLES = (layers, weights_alone, arithmetic, functions, ends, axes)
