"""Sums of 16-bit integers, which pass 2^24: added up as bytes, joined where they are rounded.

    x = 256 * h + l        h = tflgpu.high_byte(x)   l = tflgpu.low_byte(x)
    sum of x * w           a = sum of h * w,  b = sum of l * w:  256 * a + b

Both sums are exact in float32. The rows below join and round them, with a factor for each channel
that is given as floats that hold whole numbers.
"""

from __future__ import annotations

from typing import Any

from .elementwise import Elementwise, define_elementwise
from .rounding import rounded


def _high_byte(f: Any, a: Any) -> Any:
    return f.floor((a + 128.0) * 0.00390625)


def _wide(f: Any, a: Any, b: Any, c: Any, d: Any, e: Any, *, low: Any, high: Any) -> Any:
    scaled = f.scale_wide(*map(f.to_int, (a, b, c, d, e)))
    return f.to_float(f.clamp(scaled, low, high))


def _joined(f: Any, a: Any, b: Any) -> Any:
    return f.to_int(a) * 256 + f.to_int(b)


def _factor(f: Any, c: Any, d: Any, e: Any) -> tuple[Any, Any]:
    """A multiplier of 31 bits, and its exponent."""
    return f.to_int(c) * 32768 + f.to_int(d), f.to_int(e)


def _all_joined(
    f: Any, a: Any, b: Any, c: Any, *, multiplier: Any, exponent: Any, low: Any, high: Any
) -> Any:
    total = (f.to_int(a) * 256 + f.to_int(b)) * 256 + f.to_int(c)
    scaled = f.multiply_rounded_twice(total, multiplier, exponent)
    return f.to_float(f.clamp(scaled, low, high))


def _by_channel(f: Any, a: Any, b: Any, c: Any, d: Any, e: Any, *, low: Any, high: Any) -> Any:
    scaled = f.multiply_each_rounded_twice(_joined(f, a, b), *_factor(f, c, d, e))
    return f.to_float(f.clamp(scaled, low, high))


def _onto(
    f: Any, a: Any, b: Any, c: Any, d: Any, e: Any, other: Any, *, low: Any, high: Any
) -> Any:
    scaled = f.multiply_each_rounded_twice(_joined(f, a, b), *_factor(f, c, d, e))
    return f.to_float(f.clamp(scaled + f.to_int(other), low, high))


def _sum_of_products(
    f: Any, a: Any, b: Any, c: Any, d: Any, *, first: Any, second: Any, low: Any, high: Any
) -> Any:
    one = f.shift_away(f.to_int(a) * f.to_int(b), first)
    other = f.shift_away(f.to_int(c) * f.to_int(d), second)
    return f.to_float(f.clamp(one + other, low, high))


def _by_channel_upwards(
    f: Any, a: Any, b: Any, c: Any, d: Any, e: Any, ties_away: Any, *, low: Any, high: Any
) -> Any:
    scaled = f.multiply_each_upwards(_joined(f, a, b), *_factor(f, c, d, e), f.to_int(ties_away))
    return f.to_float(f.clamp(scaled, low, high))


def _once(f: Any, a: Any, b: Any, c: Any, d: Any, e: Any, *, low: Any, high: Any) -> Any:
    scaled = f.multiply_each_once(_joined(f, a, b), *_factor(f, c, d, e))
    return f.to_float(f.clamp(scaled, low, high))


def _share(f: Any, a: Any, b: Any, c: Any) -> Any:
    product, unit = f.to_int(a) * f.to_int(b), f.to_int(c)
    return f.to_float(f.min((product + unit // 2) // unit, 32767))


WIDE_ROUNDING = {
    "tflgpu.high_byte": Elementwise(_high_byte),
    "tflgpu.low_byte": Elementwise(lambda f, a: a - 256.0 * _high_byte(f, a)),
    "tflgpu.requantize_wide": rounded(_wide),
    "tflgpu.requantize_wide_rounded_twice": Elementwise(_all_joined),
    "tflgpu.requantize_channels_rounded_twice": rounded(_by_channel),
    "tflgpu.requantize_channels_onto": rounded(_onto),
    "tflgpu.sum_of_products": rounded(_sum_of_products),
    "tflgpu.requantize_channels_upwards": rounded(_by_channel_upwards),
    "tflgpu.requantize_channels_once": rounded(_once),
    "tflgpu.power_below": Elementwise(lambda f, a: f.power_below(a)),
    # At least 1 also in lanes past the last channel, where both operands are 0.
    "tflgpu.normalized": Elementwise(
        lambda f, a, b: f.floor(f.max(a / f.max(b, 1.0), 1.0) * 65536.0 + 0.5)
    ),
    "tflgpu.share": Elementwise(_share),
}
"""Bytes; 256 * (256 * a + b) + c times a factor of 15 bits, rounded once; the same in 32 bits
times a fixed-point number of 31 bits, rounded twice; 256 * a + b times a fixed-point number of 31
bits: rounded twice, alone or added to a sixth operand; two products that
are shifted right; rounded twice, the last halves upwards where the sixth operand is 0; and once.
The greatest power of two up to a number, the number less that power, and a product divided by
it."""

define_elementwise(WIDE_ROUNDING)
