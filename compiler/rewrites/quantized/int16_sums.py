"""int16 activations: sums that pass 2^24, added up as bytes and joined where they are rounded.

    y = CONV_2D(x, w, b)    with int16 x
    becomes
        h = tflgpu.high_byte(c)   l = tflgpu.low_byte(c)    c: the centered integers
        p = CONV_2D(h, w, upper part of b)
        q = CONV_2D(l, w, lower part of b)
        y = tflgpu.requantize_wide(0, p, q, multipliers, shifts)

What LiteRT does with the sums follows the type it adds the bias in: with 64 bits it rounds once,
with 32 bits it lets the sums wrap and rounds twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import Array, Tensor
from ...ops.fixed_point import FixedPoint, fixed_point, half_away, upper_half
from .layer import Layer
from .lowering import Lowering

BYTE = 128
"""The greatest distance of either byte from 0."""


def bytes_of(lowering: Lowering, centered: Tensor) -> tuple[Tensor, Tensor]:
    """Integers of 16 bits, x = 256 * high + low, with both from -128 to 128; float32 like x."""
    return lowering.add("tflgpu.high_byte", centered), lowering.add("tflgpu.low_byte", centered)


def sums_of_bytes(layer: Layer) -> tuple[Tensor, Tensor]:
    """The sums of a layer's high and low bytes, both of the output's shape.

    UnsupportedError if float32 does not hold them exactly.
    """
    channels = layer.weights.shape[layer.output_axis]
    bias = np.zeros(channels, np.int64) if layer.bias is None else layer.bias.astype(np.int64)
    upper = (bias + BYTE) >> 8
    lower = bias - 256 * upper
    products = layer.products(BYTE).sum(0)
    most = products + np.maximum(np.abs(upper), np.abs(lower))
    layer.lowering.require_exact(float(most.max(initial=0)))
    high, low = bytes_of(layer.lowering, layer.centered_image)
    weights = layer.centered_weights
    return layer.sums(high, weights, upper), layer.sums(low, weights, lower)


def rounded_once(lowering: Lowering, sums: Sequence[Tensor], factors: Array) -> Tensor:
    """Two or three sums, worth 256 and 1 or 65536 as well, times factors of 15 bits, [channels]."""
    cut = [fifteen_bits(lowering, float(factor)) for factor in np.atleast_1d(factors)]
    multipliers, shifts = zip(*cut, strict=True)
    return lowering.rounded(
        "tflgpu.requantize_wide",
        *([lowering.constant(0)] * (3 - len(sums))),
        *sums,
        lowering.constant(multipliers),
        lowering.constant(shifts),
        bounds=lowering.bounds(lowering.op.output, half_away),
    )


def fifteen_bits(lowering: Lowering, factor: float) -> tuple[int, int]:
    """A factor of 15 bits for sums of 64, as LiteRT cuts it, and by how much to shift right."""
    number = fixed_point(factor)
    shift = 15 - number.exponent
    if not 8 <= shift <= 62:
        raise lowering.declined("a scale is too far from the others to be a shift of 64 bits")
    return upper_half(number.multiplier), shift


def rounded_twice(
    lowering: Lowering, sums: Sequence[Tensor], factors: Array, ties_away: Array | float
) -> Tensor:
    """256 and 1 times the sums, which wrap in 32 bits, times factors of 31 bits, [channels].

    In the second rounding ties go up, or away from zero where `ties_away` is 1.
    """
    bounds = lowering.bounds(lowering.op.output, half_away)
    operands = (*sums, *by_channel(lowering, factors), lowering.constant(ties_away))
    return lowering.rounded("tflgpu.requantize_channels_upwards", *operands, bounds=bounds)


def rounded_once_in_full(lowering: Lowering, sums: Sequence[Tensor], factors: Array) -> Tensor:
    """256 and 1 times the sums, times factors of 31 bits, [channels], rounded once."""
    bounds = lowering.bounds(lowering.op.output, half_away)
    operands = (*sums, *by_channel(lowering, factors))
    return lowering.rounded("tflgpu.requantize_channels_once", *operands, bounds=bounds)


def by_channel(lowering: Lowering, factors: Array) -> tuple[Tensor, Tensor, Tensor]:
    """The upper 16 bits, the lower 15 and the exponents of factors of 31 bits, [channels] each."""
    return as_operands(
        lowering, [lowering.fixed_point(factor) for factor in np.atleast_1d(factors)]
    )


def as_operands(lowering: Lowering, numbers: Sequence[FixedPoint]) -> tuple[Tensor, Tensor, Tensor]:
    """The upper 16 bits, the lower 15 and the exponents of fixed-point numbers."""
    return (
        lowering.constant([n.multiplier >> 15 for n in numbers]),
        lowering.constant([n.multiplier & 0x7FFF for n in numbers]),
        lowering.constant([n.exponent for n in numbers]),
    )
