"""How results of quantized operators are rounded: a row for each formula.

The operands are whole numbers in float32: integers of quantized tensors less their zero points, or
sums of their products. `low` and `high` bound the result, which is centered, too. Each formula gives
the bits that LiteRT gives where `rewrites/quantized` chooses it.
"""

from __future__ import annotations

import numpy as np

from ..ir import Array
from .elementwise import Elementwise, define_elementwise


def _scaled(a: Array, b: Array, low: float, high: float) -> Array:
    return np.clip(np.rint(np.float32(a) * np.float32(b)), low, high)


def _product(a: Array, b: Array, scale: float, low: float, high: float) -> Array:
    return np.clip(np.rint(np.float32(a * b) * np.float32(scale)), low, high)


def _fixed_point_sum(
    a: Array, b: Array, first: int, second: int, half: int, shift: int, low: int, high: int
) -> Array:
    total = a.astype(np.int64) * first + b.astype(np.int64) * second + half
    return np.clip(total >> shift, low, high)


def _fixed_point_product(
    a: Array, factor: int, half: int, shift: int, low: int, high: int
) -> Array:
    return np.clip((a.astype(np.int64) * factor + half) >> shift, low, high)


def _quantized(a: Array, inverse: float, low: float, high: float) -> Array:
    scaled = np.float32(a) * np.float32(inverse)
    return np.where(np.isnan(scaled), high, np.clip(np.rint(scaled), low, high))


ROUNDING = {
    "tflgpu.requantize": Elementwise("clamp({use.round_even}({a} * {b}), {low}, {high})", _scaled),
    "tflgpu.requantize_product": Elementwise(
        "clamp({use.round_even}({a} * {b} * {scale}), {low}, {high})", _product
    ),
    "tflgpu.requantize_sum": Elementwise(
        "{to_float}(clamp(({to_int}({a}) * {first} + {to_int}({b}) * {second} + {half}) >> {shift}, "
        "{low}, {high}))",
        _fixed_point_sum,
    ),
    "tflgpu.requantize_fixed_point": Elementwise(
        "{to_float}(clamp(({to_int}({a}) * {factor} + {half}) >> {shift}, {low}, {high}))",
        _fixed_point_product,
    ),
    "tflgpu.quantize": Elementwise(
        "clamp({use.round_even}({use.nan_to}({a} * {inverse}, {high})), {low}, {high})", _quantized
    ),
    "tflgpu.dequantize": Elementwise("{a} * {scale}", lambda a, scale: a * np.float32(scale)),
}
"""Scale and round to the nearest even integer, of sums and of products of two operands; multiply by
fixed-point numbers of `shift` fractional bits; floats to integers; integers to floats."""

define_elementwise(ROUNDING)
