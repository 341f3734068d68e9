"""How results of quantized operators are rounded: a row for each formula.

The operands are whole numbers in float32: integers of quantized tensors less their zero points, or
sums of their products. `low` and `high` bound the result, which is centered, too. Each formula
gives the bits that LiteRT gives where `rewrites/quantized` chooses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import Op
from .base import Range, by_attributes
from .elementwise import Elementwise, Formula, define_elementwise


def rounded(formula: Formula) -> Elementwise:
    """A row whose results are integers, from `low` to `high`."""
    return Elementwise(formula, range=by_attributes)


def _fixed_point_sum(
    f: Any, a: Any, b: Any, *, first: Any, second: Any, half: Any, shift: Any, low: Any, high: Any
) -> Any:
    total = f.to_int(a) * first + f.to_int(b) * second + half
    return f.to_float(f.clamp(total >> shift, low, high))


def _fixed_point_product(
    f: Any, a: Any, *, factor: Any, half: Any, shift: Any, low: Any, high: Any
) -> Any:
    return f.to_float(f.clamp((f.to_int(a) * factor + half) >> shift, low, high))


def _rounded_twice(f: Any, a: Any, *, multiplier: Any, exponent: Any, low: Any, high: Any) -> Any:
    scaled = f.multiply_rounded_twice(f.to_int(a), multiplier, exponent)
    return f.to_float(f.clamp(scaled, low, high))


def _product_rounded_twice(
    f: Any, a: Any, b: Any, *, multiplier: Any, exponent: Any, low: Any, high: Any
) -> Any:
    scaled = f.multiply_rounded_twice(f.to_int(a) * f.to_int(b), multiplier, exponent)
    return f.to_float(f.clamp(scaled, low, high))


def _quotient(
    f: Any, a: Any, b: Any, *, multiplier: Any, exponent: Any, low: Any, high: Any
) -> Any:
    quotient = f.divide_in_fixed_point(f.to_int(a), f.to_int(b), multiplier, exponent)
    return f.to_float(f.clamp(quotient, low, high))


def _product_onto(
    f: Any, a: Any, b: Any, c: Any, *, multiplier: Any, exponent: Any, low: Any, high: Any
) -> Any:
    scaled = f.multiply_rounded_twice(f.to_int(a) * f.to_int(b), multiplier, exponent)
    return f.to_float(f.clamp(scaled + f.to_int(c), low, high))


def _by_sign(
    f: Any,
    a: Any,
    b: Any,
    *,
    positive: Any,
    positive_exponent: Any,
    negative: Any,
    negative_exponent: Any,
    low: Any,
    high: Any,
) -> Any:
    above = f.multiply_rounded_twice(f.max(f.to_int(a), 0), positive, positive_exponent)
    product = f.min(f.to_int(a), 0) * f.to_int(b)
    below = f.multiply_rounded_twice(product, negative, negative_exponent)
    return f.to_float(f.clamp(above + below, low, high))


def _sum_rounded_twice(
    f: Any,
    a: Any,
    b: Any,
    *,
    left: Any,
    first: Any,
    first_exponent: Any,
    second: Any,
    second_exponent: Any,
    back: Any,
    back_exponent: Any,
    low: Any,
    high: Any,
) -> Any:
    one = f.multiply_rounded_twice(f.to_int(a) << left, first, first_exponent)
    other = f.multiply_rounded_twice(f.to_int(b) << left, second, second_exponent)
    total = f.multiply_rounded_twice(one + other, back, back_exponent)
    return f.to_float(f.clamp(total, low, high))


def _sum_of_blocks(
    f: Any,
    a: Any,
    b: Any,
    c: Any,
    *,
    left: Any,
    first: Any,
    first_exponent: Any,
    second: Any,
    second_exponent: Any,
    back: Any,
    back_exponent: Any,
    low: Any,
    high: Any,
) -> Any:
    """Each operand is scaled and rounded once; twice beyond whole blocks, where c is above 0."""
    beyond = f.to_int(c)
    one = f.scale_in_blocks(f.to_int(a) << left, beyond, first, first_exponent)
    other = f.scale_in_blocks(f.to_int(b) << left, beyond, second, second_exponent)
    total = f.multiply_rounded_twice(one + other, back, back_exponent)
    return f.to_float(f.clamp(total, low, high))


def _mean(
    f: Any, a: Any, *, offset: Any, scale: Any, shift: Any, low: Any, high: Any, zero: Any
) -> Any:
    scaled = f.rounded((a + offset) * scale)
    return f.clamp(f.round_even(scaled + shift), low, high) - zero


def _rescaled(f: Any, a: Any, *, zero: Any, scale: Any, shift: Any, low: Any, high: Any) -> Any:
    return f.clamp(f.round_away(f.rounded((a + zero) * scale) + shift), low, high)


def _quantized(f: Any, a: Any, *, inverse: Any, low: Any, high: Any) -> Any:
    return f.clamp(f.round_even(f.nan_to(a * inverse, high)), low, high)


def _quantized_to_int16(
    f: Any, a: Any, b: Any, *, inverse: Any, scale: Any, low: Any, high: Any
) -> Any:
    """What passes 2147483520, the largest float of 32 bits, becomes the least number."""
    integer = f.if_positive(b, f.round_away(a / scale), f.round_even(a * inverse))
    known = f.clamp(f.nan_to(integer, low), low, high)
    return f.if_positive(a * inverse - 2147483520.0, low, known)


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
    "tflgpu.requantize": rounded(
        lambda f, a, b, *, low, high: f.clamp(f.round_even(a * b), low, high)
    ),
    "tflgpu.requantize_product": rounded(
        lambda f, a, b, *, scale, low, high: f.clamp(f.round_even(a * b * scale), low, high)
    ),
    "tflgpu.requantize_sum": rounded(_fixed_point_sum),
    "tflgpu.requantize_fixed_point": rounded(_fixed_point_product),
    "tflgpu.requantize_rounded_twice": rounded(_rounded_twice),
    "tflgpu.requantize_product_rounded_twice": rounded(_product_rounded_twice),
    "tflgpu.requantize_quotient": rounded(_quotient),
    "tflgpu.requantize_product_onto": rounded(_product_onto),
    "tflgpu.requantize_by_sign": rounded(_by_sign),
    "tflgpu.requantize_sum_rounded_twice": rounded(_sum_rounded_twice),
    "tflgpu.requantize_sum_of_blocks": rounded(_sum_of_blocks),
    "tflgpu.requantize_mean": Elementwise(_mean, range=_range_of_mean),
    "tflgpu.rescale": rounded(_rescaled),
    "tflgpu.quantize": rounded(_quantized),
    "tflgpu.quantize_to_int16": rounded(_quantized_to_int16),
    "tflgpu.dequantize": Elementwise(lambda f, a, *, scale: a * scale),
    "tflgpu.multiply_add": Elementwise(lambda f, a, b, c: f.multiply_add(a, b, c)),
    "tflgpu.multiply_add_wide": Elementwise(lambda f, a, b, c, d: f.multiply_add_wide(a, b, c, d)),
    "tflgpu.add_exact": Elementwise(lambda f, a, b: a + b, range=_range_of_sum),
    "tflgpu.pair": Elementwise(lambda f, a, b: a * 256.0 + b),
    "tflgpu.look_up": Elementwise(
        lambda f, a, table, *, offset: table[f.to_int(a) + offset],
        table=True,
        range=_range_of_table,
    ),
}
"""Scale and round to the nearest even integer, of sums and of products of two operands; multiply by
fixed-point numbers of `shift` fractional bits; floats to integers; integers to floats; the entry of
a table, which any function of one integer is."""

define_elementwise(ROUNDING)
