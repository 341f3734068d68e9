"""Which scales XNNPACK takes, and how many values LiteRT's own kernels round at once."""

from dataclasses import dataclass
from math import prod

import numpy as np

from ...ir import Array, Shape


@dataclass(frozen=True)
class Ratios:
    """The ratios of scales that XNNPACK takes."""

    least: float
    most: float
    closed: bool = False  # Whether the upper limit belongs to them.

    def __contains__(self, ratio: float) -> bool:
        return self.least <= ratio < self.most or (self.closed and ratio == self.most)


SUMS = Ratios(2.0**-10, 2.0**8)  # Of each operand's scale to the result's in ADD and SUB.
# Of the product of the operands' scales to the result's in MUL.
PRODUCTS = Ratios(2.0**-16, 2.0**8)
# Of the operand's scale to the result's in QUANTIZE, and of each slope in LEAKY_RELU.
CONVERSIONS = Ratios(2.0**-8, 2.0**7, closed=True)

# Channels that LiteRT's code for NEON, which x86 runs translated, rounds at once.
CHANNEL_BLOCK = 8
# Channels that it scales at once where weights are quantized and other values floats.
HYBRID_BLOCK = 4
FLOAT_BLOCK = 8  # Floats that it quantizes to int16 at once.
SUM_BLOCK = 8  # Elements of int16 that it adds at once, where both operands have the same shape.
ELEMENT_BLOCK = 16  # Elements that it rounds at once where there is one scale for all.


def beyond_blocks(shape: Shape, block: int) -> Array:
    """1 for each element that LiteRT's NEON code, which x86 runs too, does not round in blocks."""
    elements = prod(shape)
    whole = elements - elements % block
    if whole == elements:
        return np.zeros(())
    beyond = np.arange(elements) >= whole
    return beyond.astype(np.float32).reshape(shape)
