"""SOFTMAX of integers."""

from __future__ import annotations

import numpy as np

from .lowering import INTEGERS, Lowering, lowers
from .softmax_of_int16 import softmax_of_int16


@lowers("SOFTMAX")
def softmax(here: Lowering) -> None:
    """Powers of the distance from the largest integer of a row, from a table of 256."""
    source, result = here.op.operand(0), here.op.output
    if source.dtype == "int16":
        softmax_of_int16(here)
        return
    if result.dtype == "int16":
        raise here.declined(f"its operand is {source.dtype}, but its result int16")
    factor = np.float32(here.scale(source) * np.float32(here.op.attrs.get("beta", 1.0)))
    low, high = INTEGERS[result.dtype]
    zero = here.zero(result)
    value = here.add(
        "tflgpu.softmax_integers",
        here.centered(source),
        factor=float(factor),
        scale=float(here.scale(result)),
        half_up=result.dtype == "uint8",
        zero=0.0,
        low=float(low - zero),
        high=float(high - zero),
    )
    here.finish_centered(value)
