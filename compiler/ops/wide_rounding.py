"""Sums of 16-bit integers, which pass 2^24: added up as bytes, joined where they are rounded.

    x = 256 * h + l        h = tflgpu.high_byte(x)   l = tflgpu.low_byte(x)
    sum of x * w           a = sum of h * w,  b = sum of l * w:  256 * a + b

Both sums are exact in float32. The rows below join and round them, with a factor for each channel
that is given as floats that hold whole numbers.
"""

from __future__ import annotations

import numpy as np

from ..ir import Array
from .base import by_attributes
from .elementwise import Elementwise, define_elementwise
from .fixed_point import multiply_rounded_twice, wrapped


def _wide(
    a: Array, b: Array, c: Array, multiplier: Array, shift: Array, low: int, high: int
) -> Array:
    total = (a.astype(np.int64) * 256 + b.astype(np.int64)) * 256 + c.astype(np.int64)
    bits = shift.astype(np.int64)
    scaled = (total * multiplier.astype(np.int64) + (np.int64(1) << (bits - 1))) >> bits
    return np.asarray(np.clip(wrapped(scaled), low, high))


def _joined(a: Array, b: Array) -> Array:
    return wrapped(a.astype(np.int64) * 256 + b.astype(np.int64))


def _by_channel(
    a: Array, b: Array, c: Array, d: Array, exponent: Array, low: int, high: int
) -> Array:
    factor = c.astype(np.int64) * 32768 + d.astype(np.int64)
    bits = exponent.astype(np.int64)
    return np.asarray(np.clip(multiply_rounded_twice(_joined(a, b), factor, bits), low, high))


def _all_joined(
    a: Array, b: Array, c: Array, multiplier: int, exponent: int, low: int, high: int
) -> Array:
    total = wrapped(a.astype(np.int64) * 65536 + b.astype(np.int64) * 256 + c.astype(np.int64))
    return np.asarray(np.clip(multiply_rounded_twice(total, multiplier, exponent), low, high))


def _onto(a: Array, b: Array, c: Array, d: Array, e: Array, f: Array, low: int, high: int) -> Array:
    factor = c.astype(np.int64) * 32768 + d.astype(np.int64)
    bits = e.astype(np.int64)
    return np.asarray(np.clip(multiply_rounded_twice(_joined(a, b), factor, bits) + f, low, high))


def _shifted(values: Array, bits: int) -> Array:
    return np.asarray((values + (1 << (bits - 1)) + (values >> 63)) >> bits)


def _sum_of_products(
    a: Array, b: Array, c: Array, d: Array, first: int, second: int, low: int, high: int
) -> Array:
    one, other = (x.astype(np.int64) * y.astype(np.int64) for x, y in ((a, b), (c, d)))
    return np.asarray(np.clip(_shifted(one, first) + _shifted(other, second), low, high))


def _by_channel_upwards(
    a: Array, b: Array, c: Array, d: Array, e: Array, f: Array, low: int, high: int
) -> Array:
    factor, bits = c.astype(np.int64) * 32768 + d.astype(np.int64), e.astype(np.int64)
    product = multiply_rounded_twice(_joined(a, b), factor, np.maximum(bits, 0))
    right = np.maximum(-bits, 0)
    half = (np.int64(1) << right) >> 1
    away = np.where(right > 0, (product >> 63) * f.astype(np.int64), 0)
    return np.asarray(np.clip((product + half + away) >> right, low, high))


def _once(a: Array, b: Array, c: Array, d: Array, e: Array, low: int, high: int) -> Array:
    factor = c.astype(np.int64) * 32768 + d.astype(np.int64)
    shift = 31 - e.astype(np.int64)
    return np.asarray(
        np.clip((_joined(a, b) * factor + (np.int64(1) << (shift - 1))) >> shift, low, high)
    )


def _power_below(a: Array) -> Array:
    return np.exp2(np.floor(np.log2(np.maximum(a.astype(np.float64), 1))))


def _share(a: Array, b: Array, c: Array) -> Array:
    product, unit = a.astype(np.int64) * b.astype(np.int64), c.astype(np.int64)
    return np.asarray(np.minimum((product + unit // 2) // unit, 32767))


_JOINED = "{to_int}({a}) * 256 + {to_int}({b})"
_FACTOR = "{to_int}({c}) * 32768 + {to_int}({d}), {to_int}({e})"

WIDE_ROUNDING = {
    "tflgpu.high_byte": Elementwise(
        "floor(({a} + 128.0f) * 0.00390625f)", lambda a: np.floor((a + 128) / 256)
    ),
    "tflgpu.low_byte": Elementwise(
        "{a} - 256.0f * floor(({a} + 128.0f) * 0.00390625f)",
        lambda a: a - 256 * np.floor((a + 128) / 256),
    ),
    "tflgpu.requantize_wide": Elementwise(
        "{to_float}(clamp({use.scale_wide}({to_int}({a}), {to_int}({b}), {to_int}({c}), "
        "{to_int}({d}), {to_int}({e})), {low}, {high}))",
        _wide,
        range=by_attributes,
    ),
    "tflgpu.requantize_wide_rounded_twice": Elementwise(
        "{to_float}(clamp({use.multiply_rounded_twice}("
        "({to_int}({a}) * 256 + {to_int}({b})) * 256 + {to_int}({c}), "
        "{multiplier}, {exponent}), {low}, {high}))",
        _all_joined,
    ),
    "tflgpu.requantize_channels_rounded_twice": Elementwise(
        f"{{to_float}}(clamp({{use.multiply_each_rounded_twice}}({_JOINED}, {_FACTOR}), "
        "{low}, {high}))",
        _by_channel,
        range=by_attributes,
    ),
    "tflgpu.requantize_channels_onto": Elementwise(
        f"{{to_float}}(clamp({{use.multiply_each_rounded_twice}}({_JOINED}, {_FACTOR}) + "
        "{to_int}({f}), {low}, {high}))",
        _onto,
        range=by_attributes,
    ),
    "tflgpu.sum_of_products": Elementwise(
        "{to_float}(clamp({use.shift_away}({to_int}({a}) * {to_int}({b}), {first}) + "
        "{use.shift_away}({to_int}({c}) * {to_int}({d}), {second}), {low}, {high}))",
        _sum_of_products,
        range=by_attributes,
    ),
    "tflgpu.requantize_channels_upwards": Elementwise(
        f"{{to_float}}(clamp({{use.multiply_each_upwards}}({_JOINED}, {_FACTOR}, "
        "{to_int}({f})), {low}, {high}))",
        _by_channel_upwards,
        range=by_attributes,
    ),
    "tflgpu.requantize_channels_once": Elementwise(
        f"{{to_float}}(clamp({{use.multiply_each_once}}({_JOINED}, {_FACTOR}), {{low}}, {{high}}))",
        _once,
        range=by_attributes,
    ),
    "tflgpu.power_below": Elementwise("{use.power_below}({a})", _power_below),
    "tflgpu.normalized": Elementwise(
        # At least 1 also in lanes past the last channel, where both operands are 0.
        "floor(max({a} / max({b}, 1.0f), 1.0f) * 65536.0f + 0.5f)",
        lambda a, b: np.floor(a / b * 65536 + 0.5),
    ),
    "tflgpu.share": Elementwise(
        "{to_float}(min(({to_int}({a}) * {to_int}({b}) + {to_int}({c}) / 2) / {to_int}({c}), "
        "32767))",
        _share,
    ),
}
"""Bytes; 256 * (256 * a + b) + c times a factor of 15 bits, rounded once; the same in 32 bits
times a fixed-point number of 31 bits, rounded twice; 256 * a + b times a fixed-point number of 31
bits: rounded twice, alone or added to a sixth operand; two products that
are shifted right; rounded twice, the last halves upwards where the sixth operand is 0; and once.
The greatest power of two up to a number, the number less that power, and a product divided by
it."""

define_elementwise(WIDE_ROUNDING)
