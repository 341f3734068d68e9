"""Operators that join tensors: what is quantized unlike the result is scaled first."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ir import Tensor
from .lowering import Lowering, lowers


@lowers("CONCATENATION", "PACK")
def join(lowering: Lowering) -> None:
    """Each operand in the quantization of the result."""
    op = lowering.op
    operands = [op.operand(position) for position in range(len(op.inputs))]
    value = lowering.add(op.name, *(rescaled(lowering, tensor) for tensor in operands), **op.attrs)
    lowering.finish_centered(value)


def rescaled(lowering: Lowering, tensor: Tensor) -> Tensor:
    """A tensor's centered integers in the quantization of the result, halves away from zero."""
    result = lowering.op.output
    centered = lowering.centered(tensor)
    if not lowering.unlike(tensor, result) or result.dtype == "int16":
        # LiteRT copies int16 as it is.
        return centered
    zero = lowering.zero(tensor)
    scale = lowering.scale(tensor) * (np.float32(1) / lowering.scale(result))
    shift = float(np.float32(-zero) * scale)
    numbers: dict[str, Any] = {"zero": float(zero), "scale": float(scale), "shift": shift}
    return lowering.rounded("tflgpu.rescale", centered, **numbers)
