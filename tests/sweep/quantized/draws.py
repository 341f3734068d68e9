"""What generators of quantized graphs draw: types, scales, zero points, operands.

Zero points are often at either end of their type, scales at times tiny or huge, and the scale of a
result mostly one that does not cut off all of it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from graphs import Call, Constant, Input, Value, affine, known
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tflgpu.compiler.ir import Array, Quantization, Shape

from ..draws import number, one_in, pick

EIGHT_BITS = ("int8", "uint8")
ALL = ("int8", "uint8", "int16")


@dataclass(frozen=True)
class Kind:
    """How a tensor is quantized."""

    dtype: str
    scale: float
    zero: int

    @property
    def quantization(self) -> Quantization:
        return affine(self.scale, self.zero)


# How many times as many powers of two are between a scale and another one, at times.
WILD = (3.0, 3.0, 8.0)

# Powers of two by which the scales of channels differ from their middle.
SPREADS = (1.0, 1.0, 6.0, 12.0)


def scale(draw: DrawFn, middle: float = 0.05, bits: float = 4.0) -> float:
    """A scale within so many powers of two of another one; at times a power of two itself."""
    if one_in(draw, 6):
        return float(2.0 ** np.round(np.log2(middle) + number(draw, -3, 3)))
    wild = pick(draw, WILD) * bits if one_in(draw, 8) else bits
    return float(np.float32(middle * 2.0 ** draw(st.floats(-wild, wild))))


def zero(draw: DrawFn, dtype: str) -> int:
    """A zero point: an end of the type, the middle, or any other integer; 0 for int16 and int32."""
    if dtype in ("int16", "int32"):
        return 0
    limits = np.iinfo(dtype)
    ends = (int(limits.min), int(limits.max), (int(limits.min) + int(limits.max) + 1) // 2)
    return number(draw, ends[0], ends[1]) if one_in(draw, 2) else pick(draw, ends)


def kind(draw: DrawFn, dtype: str, middle: float = 0.05, bits: float = 4.0) -> Kind:
    return Kind(dtype, scale(draw, middle, bits), zero(draw, dtype))


def source(shape: Shape, how: Kind) -> Input:
    """An input, drawn from all integers."""
    return Input(shape, "whole range", how.dtype, how.quantization)


def integers(draw: DrawFn, shape: Shape, dtype: str, low: int, high: int) -> Array:
    random = np.random.default_rng(number(draw, 0, 9999))
    return random.integers(low, high + 1, shape).astype(dtype)


def fixed(draw: DrawFn, shape: Shape, how: Kind) -> Constant:
    """A constant of any integers."""
    limits = np.iinfo(how.dtype)
    values = integers(draw, shape, how.dtype, int(limits.min), int(limits.max))
    return known(values, how.quantization)


def either(draw: DrawFn, shape: Shape, how: Kind) -> Value:
    """An input, or a constant once in four times."""
    return fixed(draw, shape, how) if one_in(draw, 4) else source(shape, how)


def result(
    operator: str, *operands: Value | None, how: Kind, shapes: Any = None, **attrs: Any
) -> Call:
    """An operator with one result, quantized like that."""
    return Call(operator, operands, attrs, shapes, how.dtype, quantization=how.quantization)


def weights(
    draw: DrawFn, shape: Shape, axis: int, dtype: str, by_channel: bool
) -> tuple[Constant, Array]:
    """Constant weights with a scale for each channel or one, and these scales."""
    count = shape[axis] if by_channel else 1
    middle = scale(draw, 0.01)
    random = np.random.default_rng(number(draw, 0, 9999))
    spread = pick(draw, SPREADS)
    powers = random.uniform(-spread, spread, count)
    scales = (middle * 2.0**powers).astype(np.float32)
    if dtype == "uint8":
        how = Kind(dtype, float(scales[0]), zero(draw, dtype))
        return fixed(draw, shape, how), scales
    quantization = Quantization(tuple(map(float, scales)), (0,) * count, axis)
    if dtype in ("int2", "int4"):
        low, high = (-2, 1) if dtype == "int2" else (-7, 7)
        return known(integers(draw, shape, "int8", low, high), quantization, dtype), scales
    return known(integers(draw, shape, dtype, -127, 127), quantization), scales


def bias(draw: DrawFn, scales: Array, count: int, dtype: str) -> Constant:
    """Integers of up to 20 bits, in the scale of the sums."""
    most = 1 << number(draw, 4, 20)
    values = integers(draw, (count,), dtype, -most, most)
    quantization = Quantization(tuple(map(float, scales)), (0,) * len(scales), 0)
    return known(values, quantization)


def of_sums(draw: DrawFn, dtype: str, scales: Array, terms: int) -> Kind:
    """The result of sums of that many products, in a scale that most of them fit."""
    largest = {"int16": 32768 * 127.0}.get(dtype, 128 * 127.0) * np.sqrt(terms)
    room = {"int16": 32768.0}.get(dtype, 128.0)
    return kind(draw, dtype, float(np.median(scales)) * largest / room / 3, 2.0)
