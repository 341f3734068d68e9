"""Dynamic range: float operands and 8-bit weights.

Each row of the operand, or each image, is quantized while the model runs, with a scale and a zero
point of its own; the sums are of integers, and become floats again.
"""

from __future__ import annotations

import numpy as np

from ...ir import Tensor
from .lowering import Lowering


def hybrid(here: Lowering) -> None:
    """As XNNPACK computes it: to int8, halves to even, sums times the inverse, then the scale."""
    op = here.op
    image, weights, bias = op.operand(0), op.operand(1), op.input(2)
    rank = len(image.shape)
    axes = [rank - 1] if op.name == "FULLY_CONNECTED" else list(range(1, rank))
    reduced = here.constant(axes, "int32")
    low = here.add("REDUCE_MIN", image, reduced, keep_dims=True)
    high = here.add("REDUCE_MAX", image, reduced, keep_dims=True)
    scale = here.add("tflgpu.row_scale", low, high)
    zero = here.add("tflgpu.row_zero", low, high, scale)
    integers = here.add("tflgpu.quantize_rows", image, scale, zero)
    attrs = {**op.attrs, "fused_activation_function": "NONE", "exact": True}
    sums = here.add(op.name, integers, here.centered(weights), None, **attrs)
    if len(sums.shape) != rank:
        scale = here.reshape(scale, (*sums.shape[:-1], 1))
    inverse = here.add("tflgpu.times_inverse", sums, scale)
    factors = here.constant(np.broadcast_to(here.scale(weights), sums.shape[-1:]))
    added = bias if bias is not None else here.constant(np.zeros(sums.shape[-1], np.float32))
    result: Tensor = here.add("tflgpu.multiply_add", inverse, factors, added)
    activation = op.attrs.get("fused_activation_function", "NONE")
    if activation != "NONE":
        result = here.add(activation, result)
    here.finish(result)
