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

from collections.abc import Sequence

import numpy as np

from ...ir import Array, Tensor
from ...ops.elementwise.fixed_point import FixedPoint, fixed_point, half_away, upper_half
from .exact_sums import divided, integer_sums, parts_of
from .layer import Layer
from .lowering import Lowering

BYTE = 128  # The greatest distance of either byte from 0.


def bytes_of(here: Lowering, centered: Tensor) -> tuple[Tensor, Tensor]:
    """Integers of 16 bits, x = 256 * high + low, with both from -128 to 128; float32 like x."""
    return here.add("tflgpu.high_byte", centered), here.add("tflgpu.low_byte", centered)


def sums_of_bytes(layer: Layer) -> tuple[Tensor, ...]:
    """The sums of a layer's high and low bytes, both of the output's shape.

    Where float32 may not hold them, three numbers, worth 65536, 256 and 1, of which the first is a
    multiple of 65536. UnsupportedError if such sums are of grouped channels.
    """
    channels = layer.weights.shape[layer.output_axis]
    bias = np.zeros(channels, np.int64) if layer.bias is None else layer.bias.astype(np.int64)
    upper = (bias + BYTE) >> 8
    lower = bias - 256 * upper
    products = layer.products(BYTE)
    most = np.maximum(np.abs(upper), np.abs(lower))
    high, low = bytes_of(layer.here, layer.centered_image)
    weights = layer.centered_weights
    if layer.input_axis is None or layer.grouped or weights.data is None:
        layer.here.require_exact(float((products.sum(0) + most).max(initial=0)))
    elif len(parts := parts_of(layer.here, products, most)) > 1:
        whole = integer_sums(layer, high, upper, parts), integer_sums(layer, low, lower, parts)
        return digits(layer.here, *whole)
    return layer.sums(high, weights, upper), layer.sums(low, weights, lower)


def digits(
    here: Lowering, high: Tensor, low: Tensor, highest: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """65536 * highest + 256 * high + low, int32, as floats that are worth 65536, 256 and 1."""
    carry, lower = divided(here, low, 8)
    upper, middle = divided(here, here.add("ADD", high, carry), 24 if highest is None else 8)
    if highest is not None:
        upper, rest = divided(here, here.add("ADD", highest, upper), 16)
        rest = here.add("MUL", rest, here.constant(256, "int32"))
        middle = here.add("ADD", middle, rest)
    upper = here.add("MUL", upper, here.constant(1 << 16, "int32"))
    upper, middle, lower = (
        here.add("CAST", each, dtype="float32") for each in (upper, middle, lower)
    )
    return upper, middle, lower


def rounded_once(here: Lowering, sums: Sequence[Tensor], factors: Array) -> Tensor:
    """Two or three sums, worth 256 and 1 or 65536 as well, times factors of 15 bits, [channels]."""
    cut = [fifteen_bits(here, float(factor)) for factor in np.atleast_1d(factors)]
    multipliers, shifts = zip(*cut, strict=True)
    return here.rounded(
        "tflgpu.requantize_wide",
        *_three(here, sums),
        here.constant(multipliers),
        here.constant(shifts),
        bounds=here.bounds(here.op.output, half_away),
    )


def _three(here: Lowering, sums: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The sums worth 65536, 256 and 1, the first 0 where there is none."""
    return (*[here.constant(0)] * (3 - len(sums)), *sums)


def fifteen_bits(here: Lowering, factor: float) -> tuple[int, int]:
    """A factor of 15 bits for sums of 64, as LiteRT cuts it, and by how much to shift right."""
    number = fixed_point(factor)
    shift = 15 - number.exponent
    if not 8 <= shift <= 62:
        raise here.declined("a scale is too far from the others to be a shift of 64 bits")
    return upper_half(number.multiplier), shift


def rounded_twice(
    here: Lowering, sums: Sequence[Tensor], factors: Array, ties_away: Array | float
) -> Tensor:
    """The last two sums, worth 256 and 1, wrapped in 32 bits, times factors of 31 bits, [channels].

    In the second rounding ties go up, or away from zero where `ties_away` is 1.
    """
    bounds = here.bounds(here.op.output, half_away)
    operands = (*sums[-2:], *by_channel(here, factors), here.constant(ties_away))
    return here.rounded("tflgpu.requantize_channels_upwards", *operands, bounds=bounds)


def rounded_once_in_full(here: Lowering, sums: Sequence[Tensor], factors: Array) -> Tensor:
    """Sums as those of `rounded_once`, times factors of 31 bits, [channels], rounded once."""
    bounds = here.bounds(here.op.output, half_away)
    operands = (*_three(here, sums), *by_channel(here, factors))
    return here.rounded("tflgpu.requantize_channels_once", *operands, bounds=bounds)


def by_channel(here: Lowering, factors: Array) -> tuple[Tensor, Tensor, Tensor]:
    """The upper 16 bits, the lower 15 and the exponents of factors of 31 bits, [channels] each."""
    return as_operands(here, [here.fixed_point(factor) for factor in np.atleast_1d(factors)])


def as_operands(here: Lowering, numbers: Sequence[FixedPoint]) -> tuple[Tensor, Tensor, Tensor]:
    """The upper 16 bits, the lower 15 and the exponents of fixed-point numbers.

    Those of one number have rank 0, as what it multiplies may have.
    """
    return (
        here.constant(np.squeeze([n.multiplier >> 15 for n in numbers])),
        here.constant(np.squeeze([n.multiplier & 0x7FFF for n in numbers])),
        here.constant(np.squeeze([n.exponent for n in numbers])),
    )
