"""Functions of int16, as LiteRT's own kernels compute them.

For LOGISTIC and TANH, a scale that is a power of two takes gemmlowp's polynomials in 16 bits of
fixed point; any other one straight lines between the entries of a table of the logistic function.

Other functions are 512 straight lines. The ends of each are moved by half of what it is off in its
middle, and lie between neighbours by 7 fractional bits.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...ir import Array
from ...ops.elementwise.fixed_point import half_away, saturated, shift_away, upper_half
from .lowering import INTEGERS

ONE = 32767  # The greatest number of 15 fractional bits, which stands for 1.

# exp(-2^n) with 31 fractional bits, by n.
POWERS = (
    *((-2, 1672461947), (-1, 1302514674), (0, 790015084)),
    *((1, 290630308), (2, 39332535), (3, 720401), (4, 242)),
)

STEP = 1 / 24


def _line_ends() -> Array:
    """The logistic function at multiples of STEP, with 16 fractional bits.

    Each end lies beside the curve by a sixteenth of its second difference, so that the straight
    lines between them are off in both directions.
    """
    exact = 1 / (1 + np.exp(-np.arange(256) * STEP))
    bend = exact * (1 - exact) * (1 - 2 * exact) * STEP**2
    ends = np.floor(65536 * (exact - bend / 16) + 0.5).astype(np.int64)
    ends[-1] = 65535
    return np.asarray(ends)


LINES = _line_ends()


def _product(a: Array, b: Array | int) -> Array:
    """The upper half of a doubled product, rounded."""
    doubled: Array = a * b + (1 << 14)
    return saturated(doubled >> 15)


def _exp_of_negative(values: Array, integer_bits: int) -> Array:
    """exp of numbers of at most 0 with so many integer bits; 15 fractional bits."""
    fraction = 15 - integer_bits
    quarter = 1 << (fraction - 2)
    rest = (values & (quarter - 1)) - quarter
    x = saturated(rest << integer_bits) + (1 << 12)
    square = _product(x, x)
    cube, fourth = _product(square, x), _product(square, square)
    third = _product(shift_away(fourth, 2) + cube, upper_half(715827883))
    tail = shift_away(third + square, 1)
    start = upper_half(1895147668)
    result = saturated(start + _product(x + tail, start))
    remainder = rest - values
    for power, factor in POWERS:
        if integer_bits > power:
            bit = 1 << (fraction + power)
            result = np.where(remainder & bit, _product(result, upper_half(factor)), result)
    return np.where(values == 0, ONE, result)


def _reciprocal_of_half(values: Array) -> Array:
    """2 / (1 + values), with 13 fractional bits, by Newton's method."""
    half = (values + ONE + 1) >> 1
    x = upper_half(1515870810) + _product(half, upper_half(-1010580540))
    for _ in range(3):
        error = (1 << 13) - _product(half, x)
        x = x + saturated(_product(x, error) << 2)
    return x


def logistic(values: Array) -> Array:
    """Of numbers of 12 fractional bits; 15 fractional bits."""
    x = _reciprocal_of_half(_exp_of_negative(-np.abs(values), 3))
    positive = saturated(x << 1)
    return np.where(values == 0, 1 << 14, np.where(values > 0, positive, ONE - positive))


def tanh(values: Array, integer_bits: int = 3) -> Array:
    """Of numbers with that many integer bits, at most 4; 15 fractional bits."""
    x = _reciprocal_of_half(_exp_of_negative(-np.abs(values), integer_bits + 1))
    positive = saturated((x - (1 << 13)) << 2)
    return np.sign(values) * positive


def logistic_by_lines(values: Array) -> Array:
    """Of numbers in steps of 1 / 12288; 15 fractional bits."""
    size = np.abs(values)
    place = np.minimum(size >> 9, 254)
    first, second = LINES[place], LINES[place + 1]
    result = np.where(
        size >> 9 >= 255, 0x7FFF << 10, (first << 9) + (size & 511) * (second - first)
    )
    return np.asarray(np.where(values >= 0, result + 512, (1 << 25) - result + 511) >> 10)


def tanh_by_lines(values: Array) -> Array:
    """Of numbers in steps of 1 / 12288; 15 fractional bits."""
    size = np.abs(values)
    place = np.minimum(size >> 8, 254)
    first, second = LINES[place], LINES[place + 1]
    result = np.where(size >> 8 >= 255, 0xFFFF << 8, (first << 8) + (size & 255) * (second - first))
    middle = 1 << 23
    return np.asarray(np.where(values >= 0, result - middle + 128, middle - result + 127) >> 8)


class Int16Function(NamedTuple):
    """A function of int16, in the two ways LiteRT has of computing it."""

    exact: Callable[[Array], Array]
    # The scales, in steps of 2^-12, for which it computes a polynomial.
    exact_steps: tuple[float, ...]
    lines: Callable[[Array], Array]


INT16_FUNCTIONS = {
    "LOGISTIC": Int16Function(logistic, (1.0,), logistic_by_lines),
    "TANH": Int16Function(lambda x: tanh(saturated(x)), (1.0, 2.0), tanh_by_lines),
}

COUNT = 512
LEAST, MOST = INTEGERS["int16"]


def all_results(
    function: Callable[[Array], Array],
    low: float,
    high: float,
    scale: float,
    real: type[np.float32] | type[np.float64] = np.float64,
) -> Array:
    """What the lines give for each int16, of shape [65536] and dtype int64; sums wrap.

    The integers stand for evenly spaced numbers from `low` to `high`; results are `scale` times the
    function, computed in the type `real`.
    """
    step = real((real(high) - real(low)) / real(COUNT))
    numbers: Array = np.arange(COUNT + 1).astype(real)
    ends: Array = (real(low) + numbers * step).astype(real)
    starts, nexts = ends[:-1], ends[1:]

    def scaled(places: Array) -> Array:
        values: Array = function(places).astype(real)
        return np.asarray(values * real(scale), real)

    exact: Array = half_away(scaled(starts)).astype(real)
    middle = half_away(scaled((starts + real(step / real(2))).astype(real)))
    drawn = half_away(((scaled(nexts) + exact) / real(2)).astype(real))
    moved = np.append(exact - half_away((drawn - middle) / 2), half_away(scaled(np.array([high]))))
    # Between infinite ends a line is none, and converted to 0.
    table = np.clip(np.nan_to_num(moved), LEAST, MOST).astype(np.int64)
    places = np.arange(MOST - LEAST + 1)
    first, part = places >> 7, places & 127
    slopes = np.diff(table).astype(np.int16).astype(np.int64)
    sums = table[first] + ((slopes[first] * part + 64) >> 7)
    return np.asarray(sums.astype(np.int16).astype(np.int64))
