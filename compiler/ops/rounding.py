"""How results of quantized operators are rounded: a row for each formula.

The operands are whole numbers in float32: integers of quantized tensors less their zero points, or
sums of their products. `low` and `high` bound the result, which is centered, too. Each formula
gives the bits that LiteRT gives where `rewrites/quantized` chooses it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op
from .base import Range, by_attributes
from .elementwise import Elementwise, define_elementwise
from .fixed_point import divide, multiply_rounded_twice


def _scaled(a: Array, b: Array, low: float, high: float) -> Array:
    return np.asarray(np.clip(np.rint(np.float32(a) * np.float32(b)), low, high))


def _product(a: Array, b: Array, scale: float, low: float, high: float) -> Array:
    return np.asarray(np.clip(np.rint(np.float32(a * b) * np.float32(scale)), low, high))


def _fixed_point_sum(
    a: Array, b: Array, first: int, second: int, half: int, shift: int, low: int, high: int
) -> Array:
    total = a.astype(np.int64) * first + b.astype(np.int64) * second + half
    return np.asarray(np.clip(total >> shift, low, high))


def _fixed_point_product(
    a: Array, factor: int, half: int, shift: int, low: int, high: int
) -> Array:
    return np.asarray(np.clip((a.astype(np.int64) * factor + half) >> shift, low, high))


def _fixed_point_rounded_twice(
    a: Array, multiplier: int, exponent: int, low: int, high: int
) -> Array:
    return np.clip(multiply_rounded_twice(a, multiplier, exponent), low, high)


def _sum_of_blocks(
    a: Array,
    b: Array,
    c: Array,
    left: int,
    first: int,
    first_exponent: int,
    second: int,
    second_exponent: int,
    back: int,
    back_exponent: int,
    low: int,
    high: int,
) -> Array:
    one = _operand(a, c, left, first, first_exponent)
    other = _operand(b, c, left, second, second_exponent)
    return np.clip(multiply_rounded_twice(one + other, back, back_exponent), low, high)


def _operand(a: Array, beyond: Array, left: int, multiplier: int, exponent: int) -> Array:
    """Scaled and rounded once; twice beyond whole blocks."""
    shifted = a.astype(np.int64) << left
    once = (shifted * multiplier + (np.int64(1) << (30 - exponent))) >> (31 - exponent)
    return np.where(beyond > 0, multiply_rounded_twice(shifted, multiplier, exponent), once)


def _product_rounded_twice(
    a: Array, b: Array, multiplier: int, exponent: int, low: int, high: int
) -> Array:
    product = a.astype(np.int64) * b.astype(np.int64)
    return np.clip(multiply_rounded_twice(product, multiplier, exponent), low, high)


def _quotient(a: Array, b: Array, multiplier: int, exponent: int, low: int, high: int) -> Array:
    quotient = divide(a.astype(np.int64), b.astype(np.int64), multiplier, exponent)
    return np.asarray(np.clip(quotient, low, high))


def _product_onto(
    a: Array, b: Array, c: Array, multiplier: int, exponent: int, low: int, high: int
) -> Array:
    product = a.astype(np.int64) * b.astype(np.int64)
    return np.asarray(np.clip(multiply_rounded_twice(product, multiplier, exponent) + c, low, high))


def _by_sign(
    a: Array,
    b: Array,
    positive: int,
    positive_exponent: int,
    negative: int,
    negative_exponent: int,
    low: int,
    high: int,
) -> Array:
    above = multiply_rounded_twice(np.maximum(a, 0), positive, positive_exponent)
    below = multiply_rounded_twice(np.minimum(a, 0) * b, negative, negative_exponent)
    return np.asarray(np.clip(above + below, low, high))


def _mean(
    a: Array, offset: float, scale: float, shift: float, low: float, high: float, zero: float
) -> Array:
    scaled = np.float32((np.float32(a) + np.float32(offset)) * np.float32(scale))
    return np.asarray(np.clip(np.rint(scaled + np.float32(shift)), low, high) - np.float32(zero))


def _rescaled(a: Array, zero: float, scale: float, shift: float, low: float, high: float) -> Array:
    scaled = np.float32((np.float32(a) + np.float32(zero)) * np.float32(scale))
    moved = scaled + np.float32(shift)
    return np.asarray(np.clip(np.sign(moved) * np.floor(np.abs(moved) + 0.5), low, high))


def _quantized(a: Array, inverse: float, low: float, high: float) -> Array:
    scaled = np.float32(a) * np.float32(inverse)
    return np.where(np.isnan(scaled), high, np.clip(np.rint(scaled), low, high))


def _quantized_to_int16(
    a: Array, b: Array, inverse: float, scale: float, low: float, high: float
) -> Array:
    scaled, divided = np.float32(a) * np.float32(inverse), np.float32(a) / np.float32(scale)
    away = np.sign(divided) * np.floor(np.abs(divided).astype(np.float64) + 0.5)
    rounded = np.where(b > 0, away, np.rint(scaled))
    return np.where((scaled < 2.0**31), np.clip(rounded, low, high), low)


def _entry(a: Array, table: Array, offset: int) -> Array:
    return np.asarray(table[a.astype(np.int64) + offset])


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(a.astype(np.float64) * b + c, np.float32)


def _multiply_add_wide(a: Array, b: Array, c: Array, d: Array) -> Array:
    return np.asarray((a.astype(np.float64) + b) * c + d, np.float32)


def _range_of_mean(op: Op, ranges: Sequence[Range | None]) -> Range:
    low, high = by_attributes(op, ranges)
    zero = int(op.attrs["zero"])
    return low - zero, high - zero


def _range_of_sum(op: Op, ranges: Sequence[Range | None]) -> Range | None:
    first, second = ranges
    return first and second and (first[0] + second[0], first[1] + second[1])


def _range_of_table(op: Op, ranges: Sequence[Range | None]) -> Range | None:
    return ranges[1]


ROUNDING = {
    "tflgpu.requantize": Elementwise(
        "clamp({use.round_even}({a} * {b}), {low}, {high})", _scaled, range=by_attributes
    ),
    "tflgpu.requantize_product": Elementwise(
        "clamp({use.round_even}({a} * {b} * {scale}), {low}, {high})",
        _product,
        range=by_attributes,
    ),
    "tflgpu.requantize_sum": Elementwise(
        "{to_float}(clamp("
        "({to_int}({a}) * {first} + {to_int}({b}) * {second} + {half}) >> {shift}, {low}, {high}))",
        _fixed_point_sum,
        range=by_attributes,
    ),
    "tflgpu.requantize_fixed_point": Elementwise(
        "{to_float}(clamp(({to_int}({a}) * {factor} + {half}) >> {shift}, {low}, {high}))",
        _fixed_point_product,
        range=by_attributes,
    ),
    "tflgpu.requantize_rounded_twice": Elementwise(
        "{to_float}(clamp({use.multiply_rounded_twice}({to_int}({a}), {multiplier}, {exponent}), "
        "{low}, {high}))",
        _fixed_point_rounded_twice,
        range=by_attributes,
    ),
    "tflgpu.requantize_product_rounded_twice": Elementwise(
        "{to_float}(clamp({use.multiply_rounded_twice}({to_int}({a}) * {to_int}({b}), "
        "{multiplier}, {exponent}), {low}, {high}))",
        _product_rounded_twice,
        range=by_attributes,
    ),
    "tflgpu.requantize_quotient": Elementwise(
        "{to_float}(clamp({use.divide_in_fixed_point}({to_int}({a}), {to_int}({b}), "
        "{multiplier}, {exponent}), {low}, {high}))",
        _quotient,
        range=by_attributes,
    ),
    "tflgpu.requantize_product_onto": Elementwise(
        "{to_float}(clamp({use.multiply_rounded_twice}({to_int}({a}) * {to_int}({b}), "
        "{multiplier}, {exponent}) + {to_int}({c}), {low}, {high}))",
        _product_onto,
        range=by_attributes,
    ),
    "tflgpu.requantize_by_sign": Elementwise(
        "{to_float}(clamp("
        "{use.multiply_rounded_twice}(max({to_int}({a}), 0), {positive}, {positive_exponent}) + "
        "{use.multiply_rounded_twice}(min({to_int}({a}), 0) * {to_int}({b}), {negative}, "
        "{negative_exponent}), {low}, {high}))",
        _by_sign,
        range=by_attributes,
    ),
    "tflgpu.requantize_sum_rounded_twice": Elementwise(
        "{to_float}(clamp({use.multiply_rounded_twice}("
        "{use.multiply_rounded_twice}({to_int}({a}) << {left}, {first}, {first_exponent}) + "
        "{use.multiply_rounded_twice}({to_int}({b}) << {left}, {second}, {second_exponent}), "
        "{back}, {back_exponent}), {low}, {high}))",
        lambda a, b, **factors: _sum_of_blocks(a, b, np.ones(()), **factors),
        range=by_attributes,
    ),
    "tflgpu.requantize_sum_of_blocks": Elementwise(
        "{to_float}(clamp({use.multiply_rounded_twice}("
        "{use.scale_in_blocks}({to_int}({a}) << {left}, {to_int}({c}), {first}, {first_exponent}) "
        "+ {use.scale_in_blocks}({to_int}({b}) << {left}, {to_int}({c}), {second}, "
        "{second_exponent}), {back}, {back_exponent}), {low}, {high}))",
        _sum_of_blocks,
        range=by_attributes,
    ),
    "tflgpu.requantize_mean": Elementwise(
        "clamp({use.round_even}({use.rounded}(({a} + {offset}) * {scale}) + {shift}), "
        "{low}, {high}) - {zero}",
        _mean,
        range=_range_of_mean,
    ),
    "tflgpu.rescale": Elementwise(
        "clamp({use.round_away}({use.rounded}(({a} + {zero}) * {scale}) + {shift}), {low}, {high})",
        _rescaled,
        range=by_attributes,
    ),
    "tflgpu.quantize": Elementwise(
        "clamp({use.round_even}({use.nan_to}({a} * {inverse}, {high})), {low}, {high})",
        _quantized,
        range=by_attributes,
    ),
    "tflgpu.quantize_to_int16": Elementwise(
        "{use.if_positive}({a} * {inverse} - 2147483520.0f, {low}, clamp({use.nan_to}("
        "{use.if_positive}({b}, {use.round_away}({a} / {scale}), "
        "{use.round_even}({a} * {inverse})), {low}), {low}, {high}))",
        _quantized_to_int16,
        range=by_attributes,
    ),
    "tflgpu.dequantize": Elementwise("{a} * {scale}", lambda a, scale: a * np.float32(scale)),
    "tflgpu.multiply_add": Elementwise("{use.multiply_add}({a}, {b}, {c})", _multiply_add),
    "tflgpu.multiply_add_wide": Elementwise(
        "{use.multiply_add_wide}({a}, {b}, {c}, {d})", _multiply_add_wide
    ),
    "tflgpu.add_exact": Elementwise("{a} + {b}", lambda a, b: a + b, range=_range_of_sum),
    "tflgpu.pair": Elementwise("{a} * 256.0f + {b}", lambda a, b: a * 256 + b),
    "tflgpu.look_up": Elementwise("", _entry, table=True, range=_range_of_table),
}
"""Scale and round to the nearest even integer, of sums and of products of two operands; multiply by
fixed-point numbers of `shift` fractional bits; floats to integers; integers to floats; the entry of
a table, which any function of one integer is."""

define_elementwise(ROUNDING)
