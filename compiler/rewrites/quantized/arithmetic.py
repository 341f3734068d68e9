"""Sums, differences and products of two quantized operands."""

from __future__ import annotations

from math import frexp

import numpy as np

from ...ir import Tensor
from ...ops.fixed_point import fixed_point, half_away
from .formulas import PRODUCTS, SUMS
from .lowering import Lowering, lowers


@lowers("ADD", "SUB")
def add(here: Lowering) -> None:
    """Each operand times a fixed-point factor, of 20 bits for the larger, shifted back together."""
    first, second, result = here.op.operand(0), here.op.operand(1), here.op.output
    sign = -1 if here.op.name == "SUB" else 1
    ratios = [np.float32(here.scale(t) / here.scale(result)) for t in (first, second)]
    if result.dtype == "int16" or not all(float(ratio) in SUMS for ratio in ratios):
        _add_doubly(here, first, second, sign)
        return
    shift = 20 - (frexp(float(max(ratios)))[1] - 1)
    one, other = (int(np.rint(np.float64(ratio) * 2.0**shift)) for ratio in ratios)
    low, high = here.bounds(result)
    value = here.add(
        "tflgpu.requantize_sum",
        here.centered(first),
        here.centered(second),
        first=one,
        second=sign * other,
        half=1 << (shift - 1),
        shift=shift,
        low=low,
        high=high,
    )
    here.finish_centered(value)


def _add_doubly(here: Lowering, first: Tensor, second: Tensor, sign: int) -> None:
    """As LiteRT's own kernels: operands scaled to twice the larger scale, added, scaled again."""
    result = here.op.output
    left = 15 if result.dtype == "int16" else 20
    scales = [np.float64(here.scale(tensor)) for tensor in (first, second)]
    twice = 2 * max(scales)
    one, other = (fixed_point(float(scale / twice)) for scale in scales)
    back = fixed_point(float(twice / (2.0**left * np.float64(here.scale(result)))))
    low, high = here.bounds(result, half_away)
    value = here.add(
        "tflgpu.requantize_sum_doubly",
        here.centered(first),
        here.centered(second),
        left=left,
        first=one.multiplier,
        first_exponent=one.exponent,
        second=sign * other.multiplier,
        second_exponent=other.exponent,
        back=back.multiplier,
        back_exponent=back.exponent,
        low=low,
        high=high,
    )
    here.finish_centered(value)


@lowers("MUL")
def multiply(here: Lowering) -> None:
    """The product of the integers, scaled by one product of float32."""
    first, second, result = here.op.operand(0), here.op.operand(1), here.op.output
    product = np.float32(here.scale(first) * here.scale(second))
    scale = np.float32(product / here.scale(result))
    if result.dtype == "int16" or float(scale) not in PRODUCTS:
        _multiply_doubly(here, float(np.float64(scale)))
        return
    low, high = here.bounds(result)
    value = here.add(
        "tflgpu.requantize_product",
        here.centered(first),
        here.centered(second),
        scale=float(scale),
        low=float(low),
        high=float(high),
    )
    here.finish_centered(value)


def _multiply_doubly(here: Lowering, scale: float) -> None:
    """As LiteRT's own kernels: the product of the integers times a factor that rounds twice."""
    factor = fixed_point(scale)
    low, high = here.bounds(here.op.output, half_away)
    value = here.add(
        "tflgpu.requantize_product_doubly",
        here.centered(here.op.operand(0)),
        here.centered(here.op.operand(1)),
        multiplier=factor.multiplier,
        exponent=factor.exponent,
        low=low,
        high=high,
    )
    here.finish_centered(value)


@lowers("MAXIMUM", "MINIMUM")
def pick(here: Lowering) -> None:
    """Of the integers themselves: LiteRT does not look at what they stand for."""
    result = here.op.output
    first, second = (
        here.taken_over(here.centered(tensor), tensor, result)
        for tensor in (here.op.operand(0), here.op.operand(1))
    )
    here.finish_centered(here.add(here.op.name, first, second))
