"""Numeric literals in kernel text."""

from __future__ import annotations

import numpy as np

from ..language import float_text
from .intrinsics import Use


def literal(value: float, use: Use, dtype: str = "float32") -> str:
    """A literal that is valid in every language: the shortest exact float32, or an int32.

    >>> use = Use(set())
    >>> literal(0.1, use), literal(-6, use)
    ('0.1f', '-6.0f')
    >>> literal(-6, use, "int32"), literal(-(2**31), use, "int32")
    ('-6', '(-2147483647 - 1)')
    """
    if dtype == "int32":
        if np.isinf(value):
            value = 2**31 - 1 if value > 0 else -(2**31)
        whole = (int(value) + 2**31) % 2**32 - 2**31
        return str(whole) if whole > -(2**31) else f"({whole + 1} - 1)"
    if np.isnan(value):
        return use.NAN
    if np.isinf(np.float32(value)):
        return use.INFINITY if value > 0 else f"-{use.INFINITY}"
    return float_text(value)
