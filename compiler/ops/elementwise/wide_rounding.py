"""Sums of 16-bit integers, which pass 2^24: added up as bytes, joined where they are rounded.

    x = 256 * h + l        h = tflgpu.high_byte(x)   l = tflgpu.low_byte(x)
    sum of x * w           a = sum of h * w,  b = sum of l * w:  256 * a + b

Both sums are exact in float32. The rows below join and round them, with a factor for each channel
that is given as floats that hold whole numbers.

LOG_SOFTMAX and L2_NORMALIZATION are rounded with the rows of NORMS. 1 / sqrt(s) of a row's sum of
squares, s = 256 * a + b, is a fixed-point number of 31 bits. Its upper 16 bits, its lower 15 and
its exponent are a value each, as float32 holds no more than 24.
"""

from typing import Any

from .elementwise import Elementwise, define_elementwise
from .rounding import of_integers


def _high_byte(f: Any, a: Any) -> Any:
    return f.floor((a + 128.0) * 0.00390625)


def _factor(c: Any, d: Any, e: Any) -> tuple[Any, Any]:
    """A multiplier of 31 bits from its upper and its lower part, and its exponent."""
    return c * 32768 + d, e


def _sum(f: Any, a: Any, b: Any) -> Any:
    return f.to_int(a) * 256 + f.to_int(b)


def _normalized(f: Any, a: Any, b: Any, c: Any) -> Any:
    """At least 1 is divided by, also in lanes past the last channel, where all operands are 0."""
    unit = f.to_int(c)
    return f.to_float((_sum(f, a, b) * 4 + unit // 32768) // f.max(unit // 16384, 1))


def _share(f: Any, a: Any, b: Any, c: Any) -> Any:
    product, unit = f.to_int(a) * f.to_int(b), f.to_int(c)
    return f.to_float(f.min((product + unit // 2) // unit, 32767))


# Bytes; 256 * (256 * a + b) + c times a factor of 15 bits, rounded once; the same in 32 bits times
# a fixed-point number of 31 bits, rounded twice; 256 * a + b times a fixed-point number of 31 bits:
# rounded twice, alone or added to a sixth operand; a product that is shifted right, added to a
# third; rounded twice, the last halves upwards where the sixth operand is 0; and once. The greatest
# power of two up to 256 * a + b, which is at least 2^14; 256 * a + b divided by that power, with 16
# fractional bits, halves upwards; and a product divided by it.
WIDE_ROUNDING = {
    "tflgpu.high_byte": Elementwise(_high_byte),
    "tflgpu.low_byte": Elementwise(lambda f, a: a - 256.0 * _high_byte(f, a)),
    "tflgpu.requantize_wide": of_integers(lambda f, a, b, c, d, e: f.scale_wide(a, b, c, d, e)),
    "tflgpu.requantize_wide_rounded_twice": of_integers(
        lambda f, a, b, c, *, factor: f.multiply_rounded_twice((a * 256 + b) * 256 + c, *factor)
    ),
    "tflgpu.requantize_channels_rounded_twice": of_integers(
        lambda f, a, b, c, d, e: f.multiply_each_rounded_twice(a * 256 + b, *_factor(c, d, e))
    ),
    "tflgpu.requantize_channels_onto": of_integers(
        lambda f, a, b, c, d, e, other: (
            f.multiply_each_rounded_twice(a * 256 + b, *_factor(c, d, e)) + other
        )
    ),
    "tflgpu.shift_product_onto": of_integers(
        lambda f, a, b, other, *, bits: f.shift_away(a * b, bits) + other
    ),
    "tflgpu.requantize_channels_upwards": of_integers(
        lambda f, a, b, c, d, e, ties_away: f.multiply_each_upwards(
            a * 256 + b, *_factor(c, d, e), ties_away
        )
    ),
    "tflgpu.requantize_channels_once": of_integers(
        lambda f, a, b, c, d, e, g: f.scale_wide(a, b, c, _factor(d, e, g)[0], 31 - g)
    ),
    # 256 * a + b may be rounded to the next power of two as a float, but its upper bits are exact.
    "tflgpu.power_below": Elementwise(
        lambda f, a, b: f.power_below(f.to_float(_sum(f, a, b) >> 8)) * 256.0
    ),
    "tflgpu.normalized": Elementwise(_normalized),
    "tflgpu.share": Elementwise(_share),
}

define_elementwise(WIDE_ROUNDING)


def _log_softmax(
    f: Any,
    a: Any,
    b: Any,
    c: Any,
    *,
    zero: Any,
    source: Any,
    ratio: Any,
    scale: Any,
    low: Any,
    high: Any,
) -> Any:
    shift = (f.rounded((b + zero) * source) + c) / scale
    return f.clamp(f.round_even(f.rounded((a + zero) * ratio) - shift), low, high)


def _root_rest(f: Any, a: Any, b: Any) -> Any:
    """The lower 15 bits, and above them how far the exponent is above -16."""
    total = _sum(f, a, b)
    lower = f.inverse_root(total) & 32767
    return f.to_float(lower + (f.inverse_root_exponent(total) + 16) * 32768)


def _by_root(f: Any, a: Any, high: Any, rest: Any, *, bits: int) -> Any:
    multiplier = high * 32768 + (rest & 32767)
    return f.multiply_each_rounded_twice(a, multiplier, (rest >> 15) + (bits - 16))


# The parts of 1 / sqrt(256 * a + b), and an integer times that and a power of two; a centered
# integer, the largest of its row, and the logarithm of the row's sum of powers as an integer of the
# result.
NORMS = {
    "tflgpu.inverse_root_high": Elementwise(
        lambda f, a, b: f.to_float(f.inverse_root(_sum(f, a, b)) >> 15)
    ),
    "tflgpu.inverse_root_rest": Elementwise(_root_rest),
    "tflgpu.requantize_by_root": of_integers(_by_root),
    "tflgpu.requantize_log_softmax": Elementwise(_log_softmax),
}

define_elementwise(NORMS)
