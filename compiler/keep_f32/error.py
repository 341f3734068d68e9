"""The error of an array."""

from __future__ import annotations

import numpy as np

from ..ir import Array


def relative_error(actual: Array, expected: Array) -> float:
    """The largest difference, relative to the largest absolute value of `expected` or to 1.

    Infinite if one is not finite where the other is, or if shapes differ; 0 if equal.
    """
    if expected.dtype.kind != "f" or actual.shape != expected.shape:
        same = actual.shape == expected.shape and bool(np.all(actual == expected))
        return 0.0 if same else np.inf
    finite = np.isfinite(expected)
    if np.any(np.isfinite(actual) != finite):
        return np.inf
    wanted = expected[finite].astype(np.float64)
    difference = np.abs(actual[finite] - wanted).max(initial=0.0)
    return float(difference / max(1.0, np.abs(wanted).max(initial=0.0)))
