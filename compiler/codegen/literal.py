"""Numeric literals in kernel text."""

from __future__ import annotations

import numpy as np

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
    number = np.float32(value)
    if abs(number) < np.finfo(np.float32).tiny:
        number = np.float32(0)  # denormal numbers are slow, and GPUs take them for zeros
    if np.isnan(number):
        return use.NAN
    if np.isinf(number):
        return use.INFINITY if number > 0 else f"-{use.INFINITY}"
    text = np.format_float_scientific(number, trim="0", exp_digits=1)
    plain = np.format_float_positional(number, trim="0")
    return f"{plain if len(plain) <= len(text) else text}f"
