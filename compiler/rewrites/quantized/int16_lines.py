"""Functions of int16 as LiteRT's tables of 512 straight lines give them.

The ends of each line are moved by half of what the line is off in its middle, and lie between
neighbours by 7 fractional bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...ir import Array
from ...ops.fixed_point import half_away
from .lowering import INTEGERS

LINES = 512
LEAST, MOST = INTEGERS["int16"]


def all_results(
    function: Callable[[Array], Array],
    low: float,
    high: float,
    scale: float,
    real: type[np.float32] | type[np.float64] = np.float64,
) -> Array:
    """What the lines give for each int16, of shape [65536] and dtype int64.

    The integers stand for evenly spaced numbers from `low` to `high`; results are `scale` times the
    function, computed in the type `real`.
    """
    step = real((real(high) - real(low)) / real(LINES))
    numbers: Array = np.arange(LINES + 1).astype(real)
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
    return np.asarray(table[first] + ((slopes[first] * part + 64) >> 7))
