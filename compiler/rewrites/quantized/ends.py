"""QUANTIZE and DEQUANTIZE: floats to integers and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Array, Tensor
from .formulas import CONVERSIONS, ELEMENT_BLOCK
from .lowering import INTEGERS, Lowering, lowers
from .sixteen_bits import by_channel


@lowers("QUANTIZE")
def quantize(here: Lowering) -> None:
    """Floats to integers, or integers to those of another scale."""
    source, result = here.op.operand(0), here.op.output
    if result.dtype not in INTEGERS:
        raise here.declined(f"its result is {result.dtype}, not one of {', '.join(INTEGERS)}")
    if source.dtype not in INTEGERS:
        here.finish_centered(_of_floats(here, source, result))
        return
    ratio = float(here.scale(source) / here.scale(result))
    low, high = here.bounds(result)
    centered = here.centered(source)
    if source.dtype == result.dtype != "int16" and ratio in CONVERSIONS:
        steps = int(np.rint(np.float32(256) * np.float32(ratio)))
        numbers: dict[str, Any] = {
            "factor": steps << 7,
            "half": 1 << 14,
            "shift": 15,
            "low": low,
            "high": high,
        }
        value = here.add("tflgpu.requantize_fixed_point", centered, **numbers)
    else:
        factor = float(np.float64(here.scale(source)) / np.float64(here.scale(result)))
        operands = (here.constant(0), centered, *by_channel(here, np.asarray(factor)))
        away = here.constant(_beyond_blocks(source, result))
        name = "tflgpu.requantize_channels_upwards"
        value = here.add(name, *operands, away, low=low, high=high)
    here.finish_centered(value)


def _beyond_blocks(source: Tensor, result: Tensor) -> Array:
    """1 for each element that LiteRT's NEON code, which x86 runs too, does not round in blocks."""
    if "int16" in (source.dtype, result.dtype):
        return np.ones(())
    whole = source.elements - source.elements % ELEMENT_BLOCK
    if whole == source.elements:
        return np.zeros(())
    beyond = np.arange(source.elements) >= whole
    return beyond.astype(np.float32).reshape(source.shape)


def _of_floats(here: Lowering, source: Tensor, result: Tensor) -> Tensor:
    """Times the inverse scale to the nearest even integer; divided by the scale for int16."""
    low, high = here.bounds(result)
    if result.dtype == "int16":
        scale = float(here.scale(result))
        limits: dict[str, Any] = {"low": float(low), "high": float(high)}
        return here.add("tflgpu.quantize_by_division", source, scale=scale, **limits)
    inverse = float(np.float32(1) / here.scale(result))
    return here.add("tflgpu.quantize", source, inverse=inverse, low=float(low), high=float(high))


@lowers("DEQUANTIZE")
def dequantize(here: Lowering) -> None:
    """Centered integers are multiplied by the scale, or each channel by its own."""
    source = here.op.operand(0)
    centered, scale = here.centered(source), here.scale(source)
    if scale.ndim:
        assert source.quantization is not None
        behind = len(source.shape) - 1 - source.quantization.axis
        factors = here.constant(scale.reshape(-1, *(1,) * behind))
        here.finish(here.add("MUL", centered, factors))
    else:
        here.finish(here.add("tflgpu.dequantize", centered, scale=float(scale)))
