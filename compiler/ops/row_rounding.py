"""How rows of floats become integers while the model runs, and sums of their products floats again.

    s = tflgpu.row_scale(least, most)                  255 / (most - least), of each row
    z = tflgpu.row_zero(least, most, s)                the zero point, -128 to 127
    q = tflgpu.quantize_rows(x, s, z)                  x * s + z, rounded, less z
    y = tflgpu.times_inverse(sums of products, s)

or, where the integers are multiplied as they are, -128 to 127,

    i = tflgpu.round_rows(x, s, z)                     x * s + z, rounded
    q = tflgpu.less_zero(sums of products, z, w)       less z times w, the sums of the weights

or, as LiteRT's own kernels compute it, with the step of a row, 1 / s, and halves away from zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op
from .base import Range
from .elementwise import Elementwise, define_elementwise


def _row_scale(a: Array, b: Array) -> Array:
    low, high = np.minimum(a, 0), np.maximum(b, 0)
    return np.where(low == high, np.float32(1), np.float32(255) / (high - low))


def _row_zero(a: Array, b: Array, c: Array) -> Array:
    low, high = np.minimum(a, 0) * c, np.maximum(b, 0) * c
    nearer = (np.float32(-128) + low) + (np.float32(127) + high) > 0
    zero = np.where(nearer, np.float32(-128) - low, np.float32(127) - high)
    return np.asarray(np.clip(np.rint(zero), -128, 127))


def _rounded_rows(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(np.clip(np.rint(a * b) + c, -128, 127))


def _quantized_rows(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(_rounded_rows(a, b, c) - c)


def _range_of_bytes(op: Op, ranges: Sequence[Range | None]) -> Range:
    return -128, 127


def _row_step(a: Array, b: Array) -> Array:
    size = np.maximum(b, 0) - np.minimum(a, 0)
    return np.asarray(np.where(size > 0, size / np.float32(255), np.float32(1)))


def _rows_away(a: Array, b: Array, c: Array) -> Array:
    moved = np.float32(a * b) + c
    away = np.sign(moved) * np.floor(np.abs(moved).astype(np.float64) + 0.5)
    return np.asarray(np.clip(away, -128, 127) - c)


_ROUNDED = "clamp({use.round_even}({a} * {b}) + {c}, -128.0f, 127.0f)"

ROW_ROUNDING = {
    "tflgpu.row_scale": Elementwise(
        "{use.if_positive}(max({b}, 0.0f) - min({a}, 0.0f), "
        "255.0f / (max({b}, 0.0f) - min({a}, 0.0f)), max({b}, 0.0f) - min({a}, 0.0f) + 1.0f)",
        _row_scale,
    ),
    "tflgpu.row_zero": Elementwise(
        "clamp({use.round_even}({use.if_positive}("
        "(-128.0f + {use.rounded}(min({a}, 0.0f) * {c})) "
        "+ (127.0f + {use.rounded}(max({b}, 0.0f) * {c})), "
        "-128.0f - {use.rounded}(min({a}, 0.0f) * {c}), "
        "127.0f - {use.rounded}(max({b}, 0.0f) * {c}))), -128.0f, 127.0f)",
        _row_zero,
    ),
    "tflgpu.quantize_rows": Elementwise(f"{_ROUNDED} - {{c}}", _quantized_rows),
    "tflgpu.round_rows": Elementwise(_ROUNDED, _rounded_rows, range=_range_of_bytes),
    "tflgpu.less_zero": Elementwise("{a} - {b} * {c}", lambda a, b, c: a - b * c),
    "tflgpu.row_step": Elementwise(
        "{use.if_positive}(max({b}, 0.0f) - min({a}, 0.0f), "
        "(max({b}, 0.0f) - min({a}, 0.0f)) / 255.0f, max({b}, 0.0f) - min({a}, 0.0f) + 1.0f)",
        _row_step,
    ),
    "tflgpu.quantize_rows_away": Elementwise(
        "clamp({use.round_away}({use.rounded}({a} * {b}) + {c}), -128.0f, 127.0f) - {c}",
        _rows_away,
    ),
    "tflgpu.scale_rows": Elementwise(
        "{use.rounded}({a} * {b} * {c} * {d}) + {e}",
        lambda a, b, c, d, e: a * b * c * d + e,
    ),
    "tflgpu.scale_row_sums": Elementwise(
        "{use.rounded}({a} * ({b} * {c})) + {d}", lambda a, b, c, d: a * (b * c) + d
    ),
    "tflgpu.times_inverse": Elementwise("{a} * (1.0f / {b})", lambda a, b: a * (1 / b)),
}
"""Scales, zero points and steps of rows from their least and greatest values; rounding; scaling."""

define_elementwise(ROW_ROUNDING)
