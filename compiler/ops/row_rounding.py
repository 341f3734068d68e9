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
from typing import Any

from ..ir import Op
from .base import Range
from .elementwise import Elementwise, define_elementwise


def _size(f: Any, a: Any, b: Any) -> Any:
    """The distance of a row's least number to its greatest one, or of either to 0."""
    return f.max(b, 0.0) - f.min(a, 0.0)


def _row_scale(f: Any, a: Any, b: Any) -> Any:
    size = _size(f, a, b)
    return f.if_positive(size, 255.0 / size, size + 1.0)


def _row_step(f: Any, a: Any, b: Any) -> Any:
    size = _size(f, a, b)
    return f.if_positive(size, size / 255.0, size + 1.0)


def _row_zero(f: Any, a: Any, b: Any, c: Any) -> Any:
    """The zero point at which less is cut off, at the least or at the greatest number."""
    low, high = f.rounded(f.min(a, 0.0) * c), f.rounded(f.max(b, 0.0) * c)
    error = (-128.0 + low) + (127.0 + high)
    zero = f.round_even(f.if_positive(error, -128.0 - low, 127.0 - high))
    return f.clamp(zero, -128.0, 127.0)


def _rounded_rows(f: Any, a: Any, b: Any, c: Any) -> Any:
    return f.clamp(f.round_even(a * b) + c, -128.0, 127.0)


def _rows_away(f: Any, a: Any, b: Any, c: Any) -> Any:
    return f.clamp(f.round_away(a * b) + c, -128.0, 127.0) - c


def _range_of_bytes(op: Op, ranges: Sequence[Range | None]) -> Range:
    return -128, 127


ROW_ROUNDING = {
    "tflgpu.row_scale": Elementwise(_row_scale),
    "tflgpu.row_zero": Elementwise(_row_zero),
    "tflgpu.quantize_rows": Elementwise(lambda f, a, b, c: _rounded_rows(f, a, b, c) - c),
    "tflgpu.round_rows": Elementwise(_rounded_rows, range=_range_of_bytes),
    "tflgpu.less_zero": Elementwise(lambda f, a, b, c: a - b * c),
    "tflgpu.row_step": Elementwise(_row_step),
    "tflgpu.quantize_rows_away": Elementwise(_rows_away),
    "tflgpu.scale_rows": Elementwise(lambda f, a, b, c, d, e: f.rounded(a * b * c * d) + e),
    "tflgpu.scale_row_sums": Elementwise(lambda f, a, b, c, d: f.rounded(a * (b * c)) + d),
    "tflgpu.times_inverse": Elementwise(lambda f, a, b: a * (1.0 / b)),
}
"""Scales, zero points and steps of rows from their least and greatest values; rounding; scaling."""

define_elementwise(ROW_ROUNDING)
