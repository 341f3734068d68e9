"""What LOG_SOFTMAX and L2_NORMALIZATION of integers are rounded with: a row for each formula.

1 / sqrt(s) of a row's sum of squares, s = 256 * a + b, is a fixed-point number of 31 bits. Its
upper 16 bits, its lower 15 and its exponent are a value each, as float32 holds no more than 24.
"""

from __future__ import annotations

from typing import Any

from .elementwise import Elementwise, define_elementwise


def _sum(f: Any, a: Any, b: Any) -> Any:
    return f.to_int(a) * 256 + f.to_int(b)


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


NORMS = {
    "tflgpu.inverse_root_high": Elementwise(
        lambda f, a, b: f.to_float(f.inverse_root(_sum(f, a, b)) >> 15)
    ),
    "tflgpu.inverse_root_low": Elementwise(
        lambda f, a, b: f.to_float(f.bit_and(f.inverse_root(_sum(f, a, b)), 32767))
    ),
    "tflgpu.inverse_root_exponent": Elementwise(
        lambda f, a, b: f.to_float(f.inverse_root_exponent(_sum(f, a, b)))
    ),
    "tflgpu.requantize_log_softmax": Elementwise(_log_softmax),
}
"""The parts of 1 / sqrt(256 * a + b); a centered integer, the largest of its row, and the logarithm
of the row's sum of powers as an integer of the result."""

define_elementwise(NORMS)
