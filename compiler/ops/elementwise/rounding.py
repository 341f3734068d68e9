"""How results of quantized operators are rounded: a row for each formula.

The operands are whole numbers in float32: integers of quantized tensors less their zero points, or
sums of their products. `low` and `high` bound the result, which is centered, too. Factors of 31
bits are pairs of a multiplier and an exponent (`fixed_point.py`). Each formula gives the bits that
LiteRT gives where `rewrites/quantized` chooses it.

Rows of floats become integers while the model runs, and sums of their products floats again:

    s, z = tflgpu.row_scales(x)                        255 / (most - least); -128 to 127
    q = tflgpu.quantize_rows(x, s, z)                  x * s + z, rounded, less z
    y = tflgpu.times_inverse(sums of products, s)

or, where the integers are multiplied as they are, -128 to 127,

    i = tflgpu.round_rows(x, s, z)                     x * s + z, rounded
    q = tflgpu.less_zero(sums of products, z, w)       less z times w, the sums of the weights

with tflgpu.less_products in place of the last one where blocks of weights have scales.

Or, as LiteRT's own kernels compute it, with the step of a row, 1 / s, and halves away from zero.
"""

from collections.abc import Sequence
from typing import Any

from ...ir import Op
from ..base.traits import Range, by_attributes
from .elementwise import Elementwise, Formula, define_elementwise

LARGE = 3.0e38  # A float that any scale takes beyond the integers of a type.


def rounded(formula: Formula) -> Elementwise:
    """A row whose results are integers, from `low` to `high`."""
    return Elementwise(formula, range=by_attributes)


def of_integers(formula: Formula) -> Elementwise:
    """A row whose formula computes integers, which are then limited to `low` and `high`."""
    return Elementwise(formula, whole=True, range=by_attributes)


def _mean(
    f: Any, a: Any, *, offset: Any, scale: Any, shift: Any, low: Any, high: Any, zero: Any
) -> Any:
    scaled = f.rounded((a + offset) * scale)
    return f.clamp(f.round_even(scaled + shift), low, high) - zero


def _rescaled(f: Any, a: Any, *, zero: Any, scale: Any, shift: Any, low: Any, high: Any) -> Any:
    return f.clamp(f.round_away(f.rounded((a + zero) * scale) + shift), low, high)


def _quantized(f: Any, a: Any, *, inverse: Any, low: Any, high: Any) -> Any:
    """NaN becomes the greatest integer."""
    return f.clamp(f.round_even(f.in_order(f.nan_to(a, LARGE)) * inverse), low, high)


def _quantized_to_int16(f: Any, a: Any, b: Any, *, inverse: Any, low: Any, high: Any) -> Any:
    """What passes 2147483520, the largest float of 32 bits, becomes the least number, as NaN.

    Where `b` is above 0, a / b is rounded with halves away from zero, none of which is a quotient
    just beside one: whole halves are counted.
    """
    a = f.in_order(f.nan_to(a, -LARGE))
    steps = f.floor((f.floor_div(f.max(a, -a), b * 0.5) + 1.0) * 0.5)
    integer = f.if_positive(b, f.if_positive(a, steps, -steps), f.round_even(a * inverse))
    known = f.clamp(integer, low, high)
    return f.if_positive(a * inverse - 2147483520.0, low, known)


def _quantized_channels(f: Any, a: Any, b: Any, *, low: Any, high: Any) -> Any:
    """Quotients of float32, with halves away from zero; what passes 32 bits as above."""
    steps = f.round_away(f.in_order(f.nan_to(a, -LARGE)) / b)
    return f.if_positive(steps - 2147483520.0, low, f.clamp(steps, low, high))


def _range_of_mean(op: Op, ranges: Sequence[Range | None]) -> Range:
    low, high = by_attributes(op, ranges)
    zero = int(op.attrs["zero"])
    return low - zero, high - zero


def _range_of_sum(op: Op, ranges: Sequence[Range | None]) -> Range | None:
    first, second = ranges
    return first and second and (first[0] + second[0], first[1] + second[1])


# Scale and round to the nearest even integer, of sums and of products of two operands; multiply by
# fixed-point numbers of `shift` fractional bits; floats to integers; integers to floats; the entry
# of a table, which any function of one integer is.
ROUNDING = {
    "tflgpu.requantize": rounded(
        lambda f, a, b, *, low, high: f.clamp(f.round_even(a * b), low, high)
    ),
    "tflgpu.requantize_product": rounded(
        lambda f, a, b, *, scale, low, high: f.clamp(
            f.round_even(f.in_order(a * b) * scale), low, high
        )
    ),
    "tflgpu.requantize_sum": of_integers(
        lambda f, a, b, *, first, second, half, shift: (a * first + b * second + half) >> shift
    ),
    "tflgpu.requantize_fixed_point": of_integers(
        lambda f, a, *, factor, half, shift: (a * factor + half) >> shift
    ),
    "tflgpu.requantize_rounded_twice": of_integers(
        lambda f, a, *, factor: f.multiply_rounded_twice(a, *factor)
    ),
    "tflgpu.requantize_product_rounded_twice": of_integers(
        lambda f, a, b, *, factor: f.multiply_rounded_twice(a * b, *factor)
    ),
    "tflgpu.requantize_quotient": of_integers(
        lambda f, a, b, *, factor: f.divide_in_fixed_point(a, b, *factor)
    ),
    "tflgpu.requantize_product_onto": of_integers(
        lambda f, a, b, c, *, factor: f.multiply_rounded_twice(a * b, *factor) + c
    ),
    "tflgpu.requantize_by_sign": of_integers(
        lambda f, a, b, *, positive, negative: (
            f.multiply_rounded_twice(f.max(a, 0), *positive)
            + f.multiply_rounded_twice(f.min(a, 0) * b, *negative)
        )
    ),
    "tflgpu.requantize_sum_rounded_twice": of_integers(
        lambda f, a, b, *, left, first, second, back: f.multiply_rounded_twice(
            f.multiply_rounded_twice(a << left, *first)
            + f.multiply_rounded_twice(b << left, *second),
            *back,
        )
    ),
    # Each operand is scaled and rounded once; twice beyond whole blocks, where c is above 0.
    "tflgpu.requantize_sum_of_blocks": of_integers(
        lambda f, a, b, c, *, left, first, second, back: f.multiply_rounded_twice(
            f.scale_in_blocks(a << left, c, *first) + f.scale_in_blocks(b << left, c, *second),
            *back,
        )
    ),
    "tflgpu.requantize_mean": Elementwise(_mean, range=_range_of_mean),
    "tflgpu.rescale": rounded(_rescaled),
    "tflgpu.quantize": rounded(_quantized),
    "tflgpu.quantize_to_int16": rounded(_quantized_to_int16),
    "tflgpu.quantize_channels": rounded(_quantized_channels),
    "tflgpu.dequantize": Elementwise(lambda f, a, *, scale: f.in_order(a * scale)),
    "tflgpu.multiply_add": Elementwise(lambda f, a, b, c: f.multiply_add(a, b, c)),
    "tflgpu.multiply_add_wide": Elementwise(lambda f, a, b, c, d: f.multiply_add_wide(a, b, c, d)),
    "tflgpu.add_exact": Elementwise(lambda f, a, b: a + b, range=_range_of_sum),
    "tflgpu.pair": Elementwise(lambda f, a, b: a * 256.0 + b),
    "tflgpu.look_up": Elementwise(
        lambda f, a, table, *, offset: table[f.to_int(a) + offset],
        table=True,
        range=lambda op, ranges: ranges[1],
    ),
}

define_elementwise(ROUNDING)


def range_scale(f: Any, low: Any, high: Any) -> Any:
    """The scale of a row from its least number, which is at most 0, to its greatest, at least 0."""
    size = high - low
    return f.if_positive(size, 255.0 / size, size + 1.0)


def range_step(f: Any, low: Any, high: Any) -> Any:
    """What one integer of such a row stands for, as LiteRT's own kernels compute it."""
    size = high - low
    return f.if_positive(size, size / 255.0, size + 1.0)


def range_zero(f: Any, low: Any, high: Any, scale: Any) -> Any:
    """Its zero point, at which less is cut off, at the least or at the greatest number."""
    least, most = f.rounded(low * scale), f.rounded(high * scale)
    error = (-128.0 + least) + (127.0 + most)
    zero = f.round_even(f.if_positive(error, -128.0 - least, 127.0 - most))
    return f.clamp(zero, -128.0, 127.0)


def _rounded_rows(f: Any, a: Any, b: Any, c: Any) -> Any:
    return f.clamp(f.round_even(a * b) + c, -128.0, 127.0)


# Rounding of rows by their scales and zero points; scaling.
ROW_ROUNDING = {
    "tflgpu.quantize_rows": Elementwise(lambda f, a, b, c: _rounded_rows(f, a, b, c) - c),
    "tflgpu.round_rows": Elementwise(_rounded_rows, range=lambda op, ranges: (-128, 127)),
    "tflgpu.less_zero": Elementwise(
        lambda f, a, b, c: f.to_float(f.to_int(a) - f.to_int(b) * f.to_int(c))
    ),
    "tflgpu.less_products": Elementwise(lambda f, a, b, c: a - b * c),
    "tflgpu.quantize_rows_away": Elementwise(
        lambda f, a, b, c: f.clamp(f.round_away(a * b) + c, -128.0, 127.0) - c
    ),
    "tflgpu.scale_rows": Elementwise(lambda f, a, b, c, d, e: f.rounded(a * b * c * d) + e),
    "tflgpu.scale_row_sums": Elementwise(lambda f, a, b, c, d: f.rounded(a * (b * c)) + d),
    "tflgpu.times_inverse": Elementwise(lambda f, a, b: a * (1.0 / b)),
}

define_elementwise(ROW_ROUNDING)
