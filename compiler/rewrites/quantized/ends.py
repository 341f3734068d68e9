"""QUANTIZE and DEQUANTIZE: floats to integers and back."""

from __future__ import annotations

import numpy as np

from .lowering import INTEGERS, Lowering, lowers


@lowers("QUANTIZE")
def quantize(here: Lowering) -> None:
    """Floats are multiplied by the inverse scale and rounded to the nearest even integer."""
    source, result = here.op.operand(0), here.op.output
    low, high = here.bounds(result)
    if source.dtype not in INTEGERS:
        inverse = np.float32(1) / here.scale(result)
        value = here.add(
            "tflgpu.quantize", source, inverse=float(inverse), low=float(low), high=float(high)
        )
    else:
        factor = int(np.rint(np.float32(256) * (here.scale(source) / here.scale(result))))
        value = here.add(
            "tflgpu.requantize_fixed_point",
            here.centered(source),
            factor=factor << 7,
            half=1 << 14,
            shift=15,
            low=low,
            high=high,
        )
    here.finish_centered(value)


@lowers("DEQUANTIZE")
def dequantize(here: Lowering) -> None:
    """Centered integers are multiplied by the scale."""
    source = here.op.operand(0)
    scale = float(here.scale(source))
    here.finish(here.add("tflgpu.dequantize", here.centered(source), scale=scale))
