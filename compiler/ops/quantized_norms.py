"""What LOG_SOFTMAX and L2_NORMALIZATION of integers are rounded with: a row for each formula.

1 / sqrt(s) of a row's sum of squares, s = 256 * a + b, is a fixed-point number of 31 bits. Its
upper 16 bits, its lower 15 and its exponent are a value each, as float32 holds no more than 24.
"""

from __future__ import annotations

import numpy as np

from ..ir import Array
from .elementwise import Elementwise, define_elementwise
from .fixed_point import inverse_root


def _root(a: Array, b: Array) -> tuple[Array, Array]:
    return inverse_root(a.astype(np.int64) * 256 + b.astype(np.int64))


def _log_softmax(
    a: Array,
    b: Array,
    c: Array,
    zero: float,
    source: float,
    ratio: float,
    scale: float,
    low: float,
    high: float,
) -> Array:
    most = np.float32((b + np.float32(zero)) * np.float32(source))
    shift = np.float32((most + c) / np.float32(scale))
    scaled = np.float32((a + np.float32(zero)) * np.float32(ratio))
    return np.asarray(np.clip(np.rint(scaled - shift), low, high))


_SUM = "{to_int}({a}) * 256 + {to_int}({b})"

NORMS = {
    "tflgpu.inverse_root_high": Elementwise(
        f"{{to_float}}({{use.inverse_root}}({_SUM}) >> 15)", lambda a, b: _root(a, b)[0] >> 15
    ),
    "tflgpu.inverse_root_low": Elementwise(
        f"{{to_float}}({{use.inverse_root}}({_SUM}) & 32767)", lambda a, b: _root(a, b)[0] & 32767
    ),
    "tflgpu.inverse_root_exponent": Elementwise(
        f"{{to_float}}({{use.inverse_root_exponent}}({_SUM}))", lambda a, b: _root(a, b)[1]
    ),
    "tflgpu.requantize_log_softmax": Elementwise(
        "clamp({use.round_even}({use.rounded}(({a} + {zero}) * {ratio}) - "
        "({use.rounded}(({b} + {zero}) * {source}) + {c}) / {scale}), {low}, {high})",
        _log_softmax,
    ),
}
"""The parts of 1 / sqrt(256 * a + b); a centered integer, the largest of its row, and the logarithm
of the row's sum of powers as an integer of the result."""

define_elementwise(NORMS)
