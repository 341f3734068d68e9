"""One formula that LiteRT computes quantized operators with, and the terms that recur in them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Formula:
    """How some operators are computed for some types."""

    operators: tuple[str, ...]
    types: str
    """Types of the activations."""
    where: str
    """Further conditions."""
    formula: str
    source: str
    """What computes them so: LiteRT's own kernels, XNNPACK, or both."""


EIGHT = "int8, uint8"
TWICE = "31-bit factor, rounded after the product and, halves away from zero, after the shift"
TABLE = "table of 256 entries: float32, to the nearest"
ROOTS = "1 / sqrt by Newton's method"
STORED = "the stored integers, whatever their scales"

LITERT = "LiteRT"
XNNPACK = "XNNPACK"
