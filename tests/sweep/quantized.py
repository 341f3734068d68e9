"""Operators on quantized tensors."""

from __future__ import annotations

from graphs import Value, quantized
from hypothesis.strategies import DrawFn

from .draws import Generator, given, number, pick, shape


def quantize(draw: DrawFn) -> Value:
    """Floats become integers; LiteRT quantizes int16 symmetrically."""
    dtype = pick(draw, ("int8", "uint8", "int16"))
    zero = {"int8": number(draw, -9, 9), "uint8": number(draw, 100, 140), "int16": 0}[dtype]
    value = given(draw, shape(draw), kind=pick(draw, ("normal", "wide")))
    scale = pick(draw, (0.5, 0.05, 0.037, 0.0125))
    return quantized("QUANTIZE", value, dtype=dtype, scale=scale, zero=zero)


GENERATORS: dict[str, Generator] = {"QUANTIZE": quantize}
