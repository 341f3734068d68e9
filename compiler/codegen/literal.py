"""Numbers in kernels."""

from __future__ import annotations

import numpy as np

from ..language import FLOAT, Expression, Name, Number, expression
from .intrinsics import Use


def literal(value: float, use: Use, dtype: str = "float32") -> Expression:
    """A number that is valid in every language: the nearest float32, or an int32.

    >>> use = Use(set())
    >>> literal(0.1, use), literal(-6, use), literal(-np.inf, use)
    (0.1f, -6.0f, -INFINITY)
    >>> literal(-6, use, "int32"), literal(-(2**31), use, "int32")
    (-6, (-2147483647 - 1))
    """
    if dtype == "int32":
        if np.isinf(value):
            value = 2**31 - 1 if value > 0 else -(2**31)
        return Number((int(value) + 2**31) % 2**32 - 2**31)
    if np.isnan(value):
        return Name(use.NAN, FLOAT)
    if np.isinf(np.float32(value)):
        infinity = Name(use.INFINITY, FLOAT)
        return infinity if value > 0 else -infinity
    return expression(float(value))
