"""Operators that join tensors: what is quantized unlike the result is scaled first."""

from __future__ import annotations

import numpy as np

from ...ir import Tensor
from .lowering import Lowering, lowers


@lowers("CONCATENATION", "PACK")
def join(here: Lowering) -> None:
    """Each operand in the quantization of the result."""
    op = here.op
    operands = [op.operand(position) for position in range(len(op.inputs))]
    value = here.add(op.name, *(rescaled(here, tensor) for tensor in operands), **op.attrs)
    here.finish_centered(value)


def rescaled(here: Lowering, tensor: Tensor) -> Tensor:
    """A tensor's centered integers in the quantization of the result, halves away from zero."""
    result = here.op.output
    centered = here.centered(tensor)
    if not here.unlike(tensor, result) or result.dtype == "int16":
        # LiteRT copies int16 as it is.
        return centered
    zero = here.zero(tensor)
    scale = here.scale(tensor) * (np.float32(1) / here.scale(result))
    low, high = here.bounds(result)
    return here.add(
        "tflgpu.rescale",
        centered,
        zero=float(zero),
        scale=float(scale),
        shift=float(np.float32(-zero) * scale),
        low=float(low),
        high=float(high),
    )
