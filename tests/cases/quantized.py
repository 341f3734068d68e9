"""Quantized operators: a row for each formula that LiteRT has, and for the limits between them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from graphs import (
    Call,
    Input,
    affine,
    call,
    ints,
    known,
    number,
    quantized,
    table,
    typed,
    x,
    xi,
    xq,
)

from tflgpu.compiler.ir import Quantization

from .case import ACTIVATIONS, Case
from .quantized_layers import ALL, EIGHT_BITS, row, weights
from .special_values import computed


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
        long = xq(1, 2001, 19, dtype=dtype, scale=0.03), xq(2001, 19, dtype=dtype, scale=0.07)
        value = quantized("ADD", *long, dtype=dtype, scale=0.1, zero=zero)
        yield row("arithmetic", f"ADD {dtype} of shapes that differ in an axis of 1", value)
        scale = 0.03 * 0.07 * (16384 if dtype == "int16" else 64)
        for situation, factor in (("", 1.0), (" beyond XNNPACK", 2.0**15)):
            value = quantized(
                "MUL", first, second, dtype=dtype, scale=float(scale * factor), zero=zero
            )
            yield row("arithmetic", f"MUL {dtype}{situation}", value)
        for activation in ("NONE", "RELU6"):
            attrs = {"fused_activation_function": activation}
            value = quantized("MUL", first, first, dtype=dtype, scale=0.1, zero=zero, **attrs)
            yield row("arithmetic", f"MUL {dtype} by itself {activation}", value)
        alike = xq(19, dtype=dtype, scale=0.03, zero=zero)
        for operator in ("MAXIMUM", "MINIMUM"):
            value = quantized(operator, first, alike, dtype=dtype, scale=0.03, zero=zero)
            yield row("arithmetic", f"{operator} {dtype}", value)
        for operator in ("LESS", "EQUAL"):
            yield row("arithmetic", f"{operator} {dtype}", typed("bool", operator, first, second))
    for scale in (2.0**-15, 1.7):
        few = xq(19, dtype="int16", scale=1.5 * scale)
        value = typed("bool", "NOT_EQUAL", xq(31, 19, dtype="int16", scale=scale), few)
        yield row("arithmetic", f"NOT_EQUAL int16 of scales around {scale}", value)
    for dtype, zero in EIGHT_BITS:
        large = xq(19, dtype=dtype, scale=2.5, zero=zero)
        value = typed("bool", "GREATER", xq(3, 19, dtype=dtype, scale=1.7, zero=zero), large)
        yield row("arithmetic", f"GREATER {dtype} of scales above one", value)
        slopes = xq(1, 19, dtype=dtype, scale=0.004, zero=zero)
        value = quantized("PRELU", xq(3, 5, 19, dtype=dtype), slopes, dtype=dtype, scale=0.06)
        yield row("arithmetic", f"PRELU {dtype}", value)
    # Factors worked out in float64 round one of these integers the other way.
    image = xq(64, 64, 1, scale=0.02521517127752304, zero=127)
    slope = known(np.full((1, 1), 5, np.int8), affine(0.04510573670268059))
    value = quantized("PRELU", image, slope, scale=0.011881066, zero=66)
    yield row("arithmetic", "PRELU of scales in float32", value)
    divisors = np.where(np.arange(19) == 9, 1, np.arange(19) - 9).astype(np.int8)
    constant = known(divisors, Quantization((0.5,), (0,)))
    value = quantized("DIV", xq(3, 5, 19, zero=4), constant, scale=0.02, zero=1)
    yield row("arithmetic", "DIV", value)
    limited = {"fused_activation_function": "RELU_N1_TO_1"}
    value = quantized("DIV", xq(3, 5, 19, zero=4), constant, scale=2.0, zero=1, **limited)
    yield row("arithmetic", "DIV whose limits are half a step", value)
    divisor = known((np.arange(19) * 3581 - 32000).astype(np.int16), affine(0.0003))
    for scale in (0.0004, 3e-7, 80.0):
        value = quantized("DIV", xq(31, 5, 19, dtype="int16"), divisor, dtype="int16", scale=scale)
        yield row("arithmetic", f"DIV int16 to {scale}", value)
    value = quantized("SQUARED_DIFFERENCE", xq(3, 19), xq(19, scale=0.09, zero=5), scale=0.3)
    yield row("arithmetic", "SQUARED_DIFFERENCE", value)
    for dtype, zero in ALL:
        kind: dict[str, Any] = {"dtype": dtype, "scale": 0.05, "zero": zero}
        for operator in ("FLOOR_DIV", "FLOOR_MOD", "BITWISE_XOR"):
            if dtype != "uint8" or operator == "BITWISE_XOR":
                several = known(np.arange(1, 20).astype(dtype), affine(0.5))
                value = quantized(operator, xq(3, 19, **kind), several, **kind)
                yield row("arithmetic", f"{operator} {dtype}", value)
        bits = known((np.arange(19) % 7).astype(dtype), affine(0.5))
        value = quantized("RIGHT_SHIFT", xq(3, 19, **kind), bits, **kind)
        yield row("arithmetic", f"RIGHT_SHIFT {dtype}", value)
    for operator in ("ADD", "SUB"):
        one = known(np.array(12345, np.int16), Quantization((0.0003,), (0,)))
        operand = xq(2, 5, 7, dtype="int16", scale=0.0004)
        value = quantized(operator, operand, one, dtype="int16", scale=0.0005)
        yield row("arithmetic", f"{operator} int16 of a constant", value)
        # So many that some differ by one where operands are rounded once, and where twice.
        one_shape = [xq(2, 7003, dtype="int16", scale=scale) for scale in (0.02, 0.05)]
        value = quantized(operator, *one_shape, dtype="int16", scale=0.2)
        yield row("arithmetic", f"{operator} int16 of one shape", value)


def functions() -> Iterator[Case]:
    fixed = {"LOGISTIC": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0)}}
    fixed["TANH"] = {"int8": (1 / 128, 0), "uint8": (1 / 128, 128)}
    for operator, kinds in fixed.items():
        for dtype, (scale, zero) in kinds.items():
            value = quantized(operator, xq(256, dtype=dtype), dtype=dtype, scale=scale, zero=zero)
            yield row("functions", f"{operator} {dtype}", value)
        for scale in (2.0**-12, 2.0**-11, 0.0003, 1.0e6, 2.0e-14):
            operand = xq(3001, dtype="int16", scale=scale)
            value = quantized(operator, operand, dtype="int16", scale=2.0**-15)
            yield row("functions", f"{operator} int16 of {scale:.5g}", value)
    for operator in ("ABS", "ELU", "EXP", "HARD_SWISH", "NEG", "RELU", "RELU6", "RELU_N1_TO_1"):
        value = quantized(operator, xq(256, zero=-3), scale=0.03, zero=11)
        yield row("functions", operator, value)
    for dtype, zero in ALL:
        operand = xq(259, dtype=dtype, scale=8.4, zero=zero)
        value = quantized("RELU6", operand, dtype=dtype, scale=8.7e-8, zero=zero)
        yield row("functions", f"RELU6 {dtype} whose products wrap", value)
    for scale, step in ((13.6, 754005.0), (0.0001, 30.0), (1e-7, 2e-8)):
        value = quantized("HARD_SWISH", xq(256, scale=scale, zero=5), scale=step, zero=-83)
        yield row("functions", f"HARD_SWISH from {scale} to {step}", value)
    for operator in ("ELU", "GELU", "HARD_SWISH", "RELU"):
        for dtype, zero in ALL[:2]:
            if (operator, dtype) != ("ELU", "uint8"):
                operand = xq(1024, dtype=dtype, scale=0.05, zero=zero)
                value = quantized(operator, operand, dtype=dtype, scale=0.1, zero=zero + 9)
                yield row("functions", f"{operator} {dtype} with ties", value)
    value = quantized("LOGISTIC", xq(256, scale=20.0), scale=1 / 256, zero=-128)
    yield row("functions", "LOGISTIC of hundreds", value)
    for operator in ("LOG", "RSQRT", "SQRT"):
        value = quantized(operator, xq(256, zero=-128), scale=0.03, zero=-100)
        yield row("functions", operator, value)
    for scale, step in ((16.0, 0.001), (0.0001, 1e-7), (1e6, 0.4)):
        value = quantized("RSQRT", xq(256, scale=scale, zero=-128), scale=step, zero=-1)
        yield row("functions", f"RSQRT from {scale} to {step}", value)
    least = known(np.array(0, np.int16), affine(0.0003))
    for operator in ("EXP", "GELU", "LOG", "RSQRT", "SQRT"):
        anything = xq(3001, dtype="int16", scale=0.0003)
        positive = quantized("MAXIMUM", anything, least, dtype="int16", scale=0.0003)
        taken = positive if "SQRT" in operator else anything
        value = quantized(operator, taken, dtype="int16", scale=0.0005)
        yield row("functions", f"{operator} int16", value)
    steep = (("EXP", 0.0246, 14806.5), ("LOG", 0.018949974, 0.00011490193))
    rounded = (("GELU", 4.1903354e-06, 4.1903354e-06), ("RSQRT", 6.7898923e-06, 0.00036721))
    for operator, scale, step in (*steep, *rounded):
        taken = xq(40000, dtype="int16", scale=scale)
        if operator == "RSQRT":
            least = known(np.array(1, np.int16), affine(scale))
            taken = quantized("MAXIMUM", taken, least, dtype="int16", scale=scale)
        value = quantized(operator, taken, dtype="int16", scale=step)
        yield row("functions", f"{operator} int16 from {scale} to {step}", value)
    for dtype, zero in ALL:
        for alpha in (0.3, -0.2, 0.0001):
            operand = xq(5, 257, dtype=dtype, zero=zero)
            value = quantized(
                "LEAKY_RELU", operand, dtype=dtype, scale=0.07, zero=zero, alpha=alpha
            )
            yield row("functions", f"LEAKY_RELU {dtype} {alpha}", value)


def ends() -> Iterator[Case]:
    halves = (np.array([237, 8975, -31685, 20720, -928]) + 0.5) * np.float32(0.0123)
    value = quantized("QUANTIZE", computed(*halves), dtype="int16", scale=0.0123)
    yield row("ends", "QUANTIZE halves to int16", value)
    for target, zero in ALL:
        value = quantized("QUANTIZE", x(3, 37, draw="wide"), dtype=target, scale=0.2, zero=zero)
        yield row("ends", f"QUANTIZE float32 to {target}", value)
        scales = Quantization((0.25, 0.07, 0.5, 0.1, 0.25), (zero,) * 5, 1)
        rounded = call("MUL", call("ROUND", x(3, 5, 7, draw="wide")), number(0.125))
        value = Call("QUANTIZE", (rounded,), dtype=target, quantization=scales)
        yield row("ends", f"QUANTIZE float32 to channels of {target}", value)
        for source, other in ALL:
            if (source, target) != ("int16", "uint8"):
                operand: Input = xq(5, 37, dtype=source, scale=0.031, zero=other)
                value = quantized("QUANTIZE", operand, dtype=target, scale=0.07, zero=zero)
                yield row("ends", f"QUANTIZE {source} to {target}", value)
        value = quantized("QUANTIZE", xq(dtype=target, zero=zero), dtype="int16", scale=0.07)
        yield row("ends", f"QUANTIZE {target} of rank 0", value)
        every = quantized("MEAN", xq(5, 37, dtype=target, zero=zero), ints(0, 1), dtype=target)
        yield row("ends", f"MEAN {target} to rank 0", every)
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
        middle = {"int8": 0, "uint8": 128}[dtype]
        value = quantized("L2_NORMALIZATION", image, dtype=dtype, scale=1 / 128, zero=middle)
        yield row("axes", f"L2_NORMALIZATION {dtype}", value)
        long = xq(3, 613, **kind)
        value = quantized("L2_NORMALIZATION", long, dtype=dtype, scale=1 / 128, zero=middle)
        yield row("axes", f"L2_NORMALIZATION {dtype} of sums above 2^24", value)
        most = np.iinfo(dtype).max
        value = quantized("LOG_SOFTMAX", image, dtype=dtype, scale=16 / 256, zero=int(most))
        yield row("axes", f"LOG_SOFTMAX {dtype}", value)
        whole = {"int8": -128, "uint8": 0}[dtype]
        value = quantized("SOFTMAX", image, dtype=dtype, scale=1 / 256, zero=whole, beta=1.0)
        yield row("axes", f"SOFTMAX {dtype}", value)
        if dtype == "int8":
            value = quantized(
                "SOFTMAX", image, dtype="int16", scale=2.0**-16, zero=-32768, beta=1.0
            )
            yield row("axes", "SOFTMAX int8 to int16", value)
        place = typed("int32", "ARG_MAX", image, number(3, "int32"), output_type="int32")
        yield row("axes", f"ARG_MAX {dtype}", place)
    for dtype, scale, zero in (("int8", 0.02, -7), ("int16", 0.0001, 0)):
        for places in ((1, 2), (0, 3), (3,)):
            image = xq(2, 3, 4, 5, dtype=dtype, scale=scale, zero=zero)
            given: dict[str, Any] = {
                "dtype": dtype,
                "scale": 2.0 if dtype == "int8" else 0.01,
                "zero": zero,
            }
            value = quantized("REDUCE_PROD", image, ints(*places), **given, keep_dims=False)
            yield row("axes", f"REDUCE_PROD {dtype} over {places}", value)
    for count in (37, 613):
        operand = xq(5, count, dtype="int16")
        value = quantized("SUM", operand, ints(1), dtype="int16", scale=0.8, keep_dims=True)
        yield row("axes", f"SUM int16 of {count}", value)
    for count, scale in ((19, 0.0003), (257, 5e-5), (1, 0.001), (37, 0.1), (1001, 1e-6)):
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
        highest: dict[str, Any] = {**kind, "zero": np.iinfo(dtype).max if dtype != "int16" else 0}
        none: dict[str, Any] = {**pool, "fused_activation_function": "RELU"}
        value = quantized("AVERAGE_POOL_2D", xq(2, 7, 5, 19, **highest), **highest, **none)
        yield row("axes", f"AVERAGE_POOL_2D {dtype} of which RELU leaves 0", value)
        value = quantized("MAX_POOL_2D", xq(2, 7, 37, 1, **kind), **kind, **pool)
        yield row("axes", f"MAX_POOL_2D {dtype} of one channel", value)
        value = quantized("RESIZE_BILINEAR", image, ints(13, 4), **kind, half_pixel_centers=True)
        yield row("axes", f"RESIZE_BILINEAR {dtype}", value)
        if dtype != "uint8":
            computed = typed("int32", "SHAPE", xi(13, 4), out_type="int32")
            shapes = ((2, 13, 4, 19),)
            value = Call(
                *("RESIZE_BILINEAR", (image, computed), {"half_pixel_centers": True}, shapes),
                dtype=dtype,
                quantization=affine(0.05, zero),
            )
            yield row("axes", f"RESIZE_BILINEAR {dtype} to a computed size", value)
        finer: dict[str, Any] = {**kind, "scale": 0.03}
        value = quantized("MEAN", image, ints(1, 2), **finer, keep_dims=True)
        yield row("axes", f"MEAN to a finer scale {dtype}", value)
        value = quantized("PAD", image, table((0, 0), (1, 2), (0, 1), (3, 0)), **kind)
        yield row("axes", f"PAD {dtype}", value)
        yield row(
            "axes", f"TRANSPOSE {dtype}", quantized("TRANSPOSE", image, ints(0, 3, 1, 2), **kind)
        )
        long_rows = xq(3, 37, **kind)
        for operator, *moved in (
            ("REVERSE_V2", ints(0)),
            ("SLICE", ints(1, 0), ints(2, 37)),
            ("TILE", ints(2, 1)),
        ):
            value = quantized(operator, long_rows, *moved, **kind)
            yield row("axes", f"{operator} {dtype} of long rows", value)
        indices = xi(3, 2, draw="places", dtype="int16")
        value = quantized("GATHER", image, indices, **kind, axis=1)
        yield row("axes", f"GATHER {dtype} by int16", value)
        value = quantized("GATHER_ND", image, indices, **kind)
        yield row("axes", f"GATHER_ND {dtype} by int16", value)


def zero_scales() -> Iterator[Case]:
    """Operands of int16 that stand for 0, as converters make them of zeros of initial states."""
    nothing = xq(3, 19, dtype="int16", scale=0.0)
    some = xq(3, 19, dtype="int16", scale=0.0003)
    result: dict[str, Any] = {"dtype": "int16", "scale": 0.0004}
    sums: dict[str, Any] = {"quantized_bias_type": "int32"}
    filters = weights((17, 19))
    values = {
        "BATCH_MATMUL": quantized("BATCH_MATMUL", nothing, some, adj_y=True, **result),
        "DEQUANTIZE": typed("float32", "DEQUANTIZE", nothing),
        "DIV": quantized(
            "DIV", nothing, known(np.arange(1, 20, dtype=np.int16), affine(0.5)), **result
        ),
        "FULLY_CONNECTED": quantized("FULLY_CONNECTED", nothing, filters, None, **result, **sums),
        "LOGISTIC": quantized("LOGISTIC", nothing, dtype="int16", scale=2.0**-15),
        "MEAN": quantized("MEAN", nothing, ints(1), **result),
        "MUL": quantized("MUL", some, nothing, **result),
        "QUANTIZE": quantized("QUANTIZE", nothing, **result),
        "SOFTMAX": quantized("SOFTMAX", nothing, dtype="int16", scale=2.0**-15, beta=1.0),
    }
    for operator, value in values.items():
        yield row("arithmetic", f"{operator} of a scale of 0", value)
    # Its result keeps a scale too small for normal numbers.
    tiny = quantized(
        "FULLY_CONNECTED", nothing, filters, None, dtype="int16", scale=3.6e-43, **sums
    )
    attrs: dict[str, Any] = {"fused_activation_function": "NONE", "pot_scale_int16": False}
    value = quantized("ADD", tiny, xq(3, 17, dtype="int16", scale=0.0003), **result, **attrs)
    yield row("arithmetic", "FULLY_CONNECTED of a scale of 0 to one near it", value)


TABLES = (arithmetic, functions, ends, axes, zero_scales)
