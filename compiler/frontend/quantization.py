"""The quantization of a tensor in a file."""

from __future__ import annotations

from math import inf
from typing import Any

from ..errors import ModelError
from ..ir import Quantization
from .flatbuffer import Source


def read_quantization(source: Source, table: Any, rank: int) -> Quantization | None:
    """The scales and zero points of a tensor of that rank; None without scales (ModelError)."""
    parameters = table.Quantization()
    scale = () if parameters is None else source.numbers(parameters, "Scale")
    if not scale:
        return None
    zero_point = source.numbers(parameters, "ZeroPoint") or (0,)
    if len(zero_point) == 1:
        zero_point *= len(scale)
    if len(zero_point) != len(scale):
        raise ModelError(f"it has {len(scale)} scales and {len(zero_point)} zero points")
    if not all(0 <= factor < inf for factor in scale):
        raise ModelError(f"its quantization scale {scale[:3]} is negative, infinite or NaN")
    axis = parameters.QuantizedDimension()
    if len(scale) > 1 and not 0 <= axis < rank:
        raise ModelError(f"it is quantized along axis {axis}, but has {rank} axes")
    return Quantization(scale, zero_point, axis)
