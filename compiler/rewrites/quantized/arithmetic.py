"""Sums, differences and products of two quantized operands.

Quotients and operations on bits are computed on the stored integers, whatever they stand for.
"""

from math import frexp, prod
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...ir import Tensor
from ...ops.elementwise.fixed_point import half_away
from .lowering import INTEGERS, Lowering, lowers
from .ratios import PRODUCTS, SUM_BLOCK, SUMS, beyond_blocks
from .tables import nearest_even


@lowers("ADD", "SUB")
def add(here: Lowering) -> Tensor:
    """Each operand times a fixed-point factor, of 20 bits for the larger, shifted back together."""
    first, second, result = here.op.operand(0), here.op.operand(1), here.op.output
    sign = -1 if here.op.name == "SUB" else 1
    if first is second and sign < 0:
        # TensorFlow asks so whether numbers are finite, and gives the result a scale near 0, where
        # LiteRT's own kernels shift by what C leaves open.
        return here.constant(np.zeros(result.shape))
    ratios = [np.float32(here.scale(t) / here.scale(result)) for t in (first, second)]
    if result.dtype == "int16" or not all(float(ratio) in SUMS for ratio in ratios):
        return _add_rounded_twice(here, first, second, sign)
    shift = 20 - (frexp(float(max(ratios)))[1] - 1)
    one, other = (int(np.rint(np.float64(ratio) * 2.0**shift)) for ratio in ratios)
    operands = here.centered(first), here.centered(second)
    numbers: dict[str, Any] = {"first": one, "second": sign * other}
    numbers |= {"half": 1 << (shift - 1), "shift": shift}
    return here.rounded("tflgpu.requantize_sum", *operands, **numbers)


def _add_rounded_twice(here: Lowering, first: Tensor, second: Tensor, sign: int) -> Tensor:
    """As LiteRT's own kernels: operands scaled to twice the larger scale, added, scaled again."""
    result = here.op.output
    left = 15 if result.dtype == "int16" else 20
    scales = [np.float64(here.scale(tensor)) for tensor in (first, second)]
    reach = sum(here.reach(t) * s for t, s in zip((first, second), scales, strict=True))
    most = reach / np.float64(here.scale(result)) + 255
    if result.dtype != "int16" and sign > 0 and most > np.iinfo(np.int16).max:
        raise _wrapping(here, "sums", most)
    twice = 2 * max(scales)
    one, other = (here.fixed_point(scale / twice) for scale in scales)
    back = here.fixed_point(twice / (2.0**left * np.float64(here.scale(result))))
    if back.exponent > 0:
        raise here.undefined_shift(-back.exponent)
    operands = [here.centered(first), here.centered(second)]
    name = "tflgpu.requantize_sum_rounded_twice"
    broadcasts = first.elements != second.elements or first.elements != result.elements
    if result.dtype == "int16" and sign > 0 and not broadcasts:
        # LiteRT's code for NEON, which x86 runs translated, rounds these operands once.
        name = "tflgpu.requantize_sum_of_blocks"
        operands.append(here.constant(beyond_blocks(result.shape, SUM_BLOCK)))
    other = other._replace(multiplier=sign * other.multiplier)
    bounds = here.bounds(result, half_away)
    numbers: dict[str, Any] = {"left": left, "first": one, "second": other, "back": back}
    return here.rounded(name, *operands, bounds=bounds, **numbers)


def _wrapping(here: Lowering, numbers: str, most: float) -> UnsupportedError:
    return here.declined(
        f"its {numbers} may reach {most:.0f} times the scale of its result, but LiteRT's wrap in "
        "16 bits in some places"
    )


@lowers("MUL")
def multiply(here: Lowering) -> Tensor:
    """The product of the integers, scaled by one product of float32.

    XNNPACK has a table of the squares of an operand by itself.
    """
    first, second, result = here.op.operand(0), here.op.operand(1), here.op.output
    product = np.float32(here.scale(first) * here.scale(second))
    scale = np.float32(product / here.scale(result))
    if result.dtype == "int16" or float(scale) not in PRODUCTS:
        return _multiply_rounded_twice(here, float(np.float64(scale)))
    if first is second:
        return nearest_even(here, lambda x, _: x * x)
    operands = here.centered(first), here.centered(second)
    return here.rounded("tflgpu.requantize_product", *operands, scale=float(scale))


def _multiply_rounded_twice(here: Lowering, scale: float) -> Tensor:
    """As LiteRT's own kernels: the product of the integers times a factor that rounds twice."""
    operands, result = (here.op.operand(0), here.op.operand(1)), here.op.output
    most = scale * prod(here.reach(tensor) for tensor in operands) + 255
    if result.dtype != "int16" and most > np.iinfo(np.int16).max:
        raise _wrapping(here, "products", most)
    return here.rounded(
        "tflgpu.requantize_product_rounded_twice",
        *(here.centered(tensor) for tensor in operands),
        bounds=here.bounds(result, half_away),
        factor=here.fixed_point(scale),
    )


@lowers("MAXIMUM", "MINIMUM")
def pick(here: Lowering) -> Tensor:
    """Of the stored integers; LiteRT disregards their scales."""
    result = here.op.output
    first, second = (
        here.reinterpreted(here.centered(tensor), tensor, result)
        for tensor in (here.op.operand(0), here.op.operand(1))
    )
    return here.add(here.op.name, first, second)


QUOTIENTS = ("FLOOR_DIV", "FLOOR_MOD")


@lowers(*QUOTIENTS, "BITWISE_XOR", "RIGHT_SHIFT")
def of_stored_integers(here: Lowering) -> Tensor:
    """The operator on 32-bit integers.

    The quotient of the least integer and -1 is the greatest; LiteRT gives that or the least one.
    """
    op, result = here.op, here.op.output
    operands = [op.operand(0), op.operand(1)]
    if any(tensor.dtype != result.dtype for tensor in operands):
        raise here.declined("its operands and its result are of different types")
    if op.name in QUOTIENTS and result.dtype == "uint8":
        raise here.declined("LiteRT does not divide uint8")
    divisors = operands[1].data
    if op.name in QUOTIENTS and divisors is not None and not divisors.all():
        raise here.declined("it divides by a constant 0, at which LiteRT stops with an error")
    value = here.add(op.name, *(stored(here, tensor) for tensor in operands))
    if op.name == "FLOOR_DIV":
        most = here.constant(INTEGERS[result.dtype][1], "int32")
        value = here.add("MINIMUM", value, most)
    zero = here.zero(result)
    if zero:
        value = here.add("SUB", value, here.constant(zero, "int32"))
    return here.add("CAST", value, dtype="float32")


def stored(here: Lowering, tensor: Tensor) -> Tensor:
    if tensor.data is not None:
        return here.constant(tensor.data, "int32")
    value = here.add("CAST", here.centered(tensor), dtype="int32")
    zero = here.zero(tensor)
    return here.add("ADD", value, here.constant(zero, "int32")) if zero else value
