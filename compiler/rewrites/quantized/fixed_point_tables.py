"""Functions that LiteRT computes in fixed point: of one integer tables, too.

Some scale positive and negative integers differently.
"""

import numpy as np

from ...ir import Array, Tensor
from ...ops.elementwise.fixed_point import (
    fixed_point,
    half_away,
    inverse_root,
    multiply_rounded_twice,
    saturated,
    shift_away,
    upper_half,
)
from .lowering import INTEGERS, Lowering, lowers
from .ratios import CONVERSIONS
from .tables import int16_entries, integers, look_up

ROOT_BITS = 20  # Fractional bits of the reciprocal roots of integers.


@lowers("RSQRT")
def reciprocal_root(here: Lowering) -> Tensor:
    """In fixed point by Newton's method; of int16, drawn as lines."""
    source, result = here.op.operand(0), here.op.output
    if source.dtype == "int16":
        return look_up(here, int16_entries(here))
    step = np.sqrt(np.float64(here.scale(source))) * np.float64(here.scale(result))
    factor = fixed_point(float(1 / step))
    exponent = factor.exponent - ROOT_BITS
    if abs(exponent) > 31:
        raise here.undefined_shift(exponent)
    x = integers(here).astype(np.int64)
    multipliers, exponents = inverse_root(x)
    roots = multiply_rounded_twice(np.ones_like(x), multipliers, exponents + ROOT_BITS)
    rounded = multiply_rounded_twice(roots, factor.multiplier, exponent)
    low, high = here.bounds(result)
    return look_up(here, np.where(x > 0, np.clip(rounded, low, high), high))


@lowers("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")
def relu(here: Lowering) -> Tensor:
    """Scaled by a fixed-point factor that rounds twice, as LiteRT's own kernels do."""
    source, result = here.op.operand(0), here.op.output
    scale, zero = here.scale(result), here.zero(result)
    least = {"RELU_N1_TO_1": -1.0}.get(here.op.name, 0.0)
    most = {"RELU6": 6.0, "RELU_N1_TO_1": 1.0, "RELU_0_TO_1": 1.0}.get(here.op.name)
    low, high = (bound - zero for bound in INTEGERS[result.dtype])
    low = max(low, int(half_away(np.float32(least) / scale)))
    if most is not None:
        high = min(high, int(half_away(np.float32(most) / scale)))
    factor = here.fixed_point(here.scale(source) / scale)
    rounded = multiply_rounded_twice(integers(here).astype(np.int64), *factor)
    return look_up(here, np.clip(rounded, low, high))


@lowers("HARD_SWISH")
def hard_swish(here: Lowering) -> Tensor:
    """In 16 bits of fixed point, as LiteRT's own kernels compute it."""
    source, result = here.op.operand(0), here.op.output
    fine = np.float32(here.scale(source)) * np.float32(1.0 / 128)
    out = here.fixed_point(fine / here.scale(result))
    if out.exponent > 0:
        raise here.declined(
            "its result's scale is at most a 128th of its operand's, which LiteRT refuses"
        )
    relu_part = here.fixed_point(fine / np.float32(3.0 / 32768))
    x = integers(here).astype(np.int64) * 128
    scaled = _int16_high_product(x, upper_half(out.multiplier))
    gate = saturated(x << (relu_part.exponent - 1)) if relu_part.exponent > 0 else x
    gate = _int16_high_product(gate, upper_half(relu_part.multiplier))
    gate = saturated(gate * 2) if relu_part.exponent > 0 else _shift_away(gate, -relu_part.exponent)
    gate = (gate + 32768) >> 1
    product = gate * scaled
    halved = np.where(product >= 0, product >> 15, -((-product) >> 15))
    low, high = here.bounds(result)
    return look_up(here, np.clip(_shift_away(halved, -out.exponent), low, high))


def _shift_away(values: Array, bits: int) -> Array:
    """`shift_away` of 16 bits: by more bits, only signs are left."""
    return shift_away(values, bits) if bits < 16 else np.where(values < 0, -1, 1)


def _int16_high_product(values: Array, factor: int) -> Array:
    """The upper half of a doubled product of 16 bits, rounded."""
    product = values * factor
    moved = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return np.asarray(np.where(moved >= 0, moved >> 15, -((-moved) >> 15)))


@lowers("LEAKY_RELU")
def leaky_relu(here: Lowering) -> Tensor:
    """A fixed-point factor of 8 fractional bits for each sign, where XNNPACK has them."""
    source, result = here.op.operand(0), here.op.output
    ratio = here.scale(source) / here.scale(result)
    alpha = np.float32(here.op.attrs["alpha"])
    slopes = (ratio, ratio * alpha)
    if source.dtype == "int16" or not all(float(abs(slope)) in CONVERSIONS for slope in slopes):
        one = here.constant(1)
        # LiteRT multiplies in this order.
        return _by_sign(
            here, one, float(ratio), float(here.scale(source) * alpha / here.scale(result))
        )
    positive, negative = (int(np.rint(np.float32(256) * slope)) for slope in slopes)
    x = integers(here).astype(np.int64)
    low, high = here.bounds(result)
    rounded = ((x << 7) * np.where(x > 0, positive, negative) + (1 << 14)) >> 15
    return look_up(here, np.clip(rounded, low, high))


@lowers("PRELU")
def prelu(here: Lowering) -> Tensor:
    """As LiteRT's own kernels compute it: the slopes are integers of their own scale."""
    source, slopes, result = here.op.operand(0), here.op.operand(1), here.op.output
    if slopes.dtype == "int16":
        raise here.declined("its slopes are int16, whose bytes LiteRT takes for int8")
    one, slope, other = map(here.scale, (source, slopes, result))
    positive, negative = one / other, one * slope / other  # in float32
    return _by_sign(here, here.centered(slopes), float(positive), float(negative))


@lowers("ABS")
def absolute(here: Lowering) -> Tensor:
    """Scaled by a factor that rounds twice."""
    ratio = np.float32(here.scale(here.op.operand(0)) / here.scale(here.op.output))
    return _by_sign(here, here.constant(-1), float(ratio), float(ratio))


def _by_sign(here: Lowering, slopes: Tensor, above: float, below: float) -> Tensor:
    """Factors that round twice; `below` is of the operand times the slopes."""
    return here.rounded(
        "tflgpu.requantize_by_sign",
        here.centered(here.op.operand(0)),
        slopes,
        positive=here.fixed_point(above),
        negative=here.fixed_point(below),
    )
