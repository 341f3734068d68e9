"""SOFTMAX of integers."""

from __future__ import annotations

import numpy as np

from .int16_softmax import int16_softmax
from .lowering import INTEGERS, Lowering, lowers


@lowers("SOFTMAX")
def softmax(lowering: Lowering) -> None:
    """Powers of the distance from the largest integer of a row, from a table of 256."""
    source, result = lowering.op.operand(0), lowering.op.output
    if source.dtype == "int16":
        int16_softmax(lowering)
        return
    factor = np.float32(lowering.scale(source) * np.float32(lowering.op.attrs.get("beta", 0.0)))
    low, high = INTEGERS[result.dtype]
    zero = lowering.zero(result)
    value = lowering.add(
        "tflgpu.softmax_integers",
        lowering.centered(source),
        factor=float(factor),
        scale=float(lowering.scale(result)),
        low=float(low - zero),
        high=float(high - zero),
    )
    lowering.finish_centered(value)
