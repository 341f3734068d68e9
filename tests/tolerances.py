"""How far a result may be from LiteRT's: one table, and the comparison that reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

TOLERANCES = {("f32", "float"): 1e-4, ("f32", "exact"): 0.0}
"""By (precision, kind of value): |a - b| may be that times max(1, max|b|)."""


def difference(
    actual: Array, expected: Array, precision: str = "f32", tolerance: float | None = None
) -> str | None:
    """What is wrong with a result; None if it agrees. NaN and infinities must be in place.

    A tolerance stands in for the table's, for what is known to have no better answer.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return (
            f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
        )
    special = ~np.isfinite(expected)
    same = np.where(special, _equal(actual, expected), np.isfinite(actual))
    if not same.all():
        place = tuple(int(i) for i in np.argwhere(~same)[0])
        count = np.count_nonzero(~same)
        return f"{actual[place]} at {list(place)} instead of {expected[place]} ({count} such)"
    kind = "float" if expected.dtype.kind == "f" else "exact"
    wanted = np.where(special, 0, expected).astype(np.float64)
    error = np.abs(np.where(special, 0, actual) - wanted)
    if tolerance is None:
        tolerance = TOLERANCES[precision, kind]
    allowed = tolerance * max(1.0, float(np.abs(wanted).max(initial=0)))
    if error.max(initial=0) <= allowed:
        return None
    place = tuple(int(i) for i in np.unravel_index(np.argmax(error), error.shape))
    count = np.count_nonzero(error > allowed)
    return (
        f"{actual[place]} at {list(place)} instead of {expected[place]} "
        f"({count} of {error.size} elements are off by more than {allowed:.2g})"
    )


def _equal(actual: Array, expected: Array) -> Array:
    return np.asarray((actual == expected) | (np.isnan(actual) & np.isnan(expected)))
