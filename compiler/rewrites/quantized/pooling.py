"""Pooling of integers."""

from __future__ import annotations

import numpy as np

from ...ops.fixed_point import half_away
from .lowering import Lowering, lowers


@lowers("AVERAGE_POOL_2D")
def average_pool(lowering: Lowering) -> None:
    """Sums of integers, divided with halves away from zero."""
    op = lowering.op
    zero = lowering.zero(op.output)
    if lowering.zero(op.operand(0)) != zero:
        raise lowering.declined("its operand and its result have unlike zero points")
    low, high = lowering.bounds(op.output, half_away)
    attrs = {**op.attrs, "fused_activation_function": "NONE"}
    image = lowering.centered(op.operand(0))
    value = lowering.add(
        "tflgpu.average_pool_integers", image, zero=zero, low=low, high=high, **attrs
    )
    lowering.finish_centered(value)


@lowers("MAX_POOL_2D")
def max_pool(lowering: Lowering) -> None:
    """The integers stay the same, within the limits of the fused activation."""
    op = lowering.op
    attrs = {**op.attrs, "fused_activation_function": "NONE"}
    value = lowering.add(op.name, lowering.centered(op.operand(0)), **attrs)
    value = lowering.reinterpreted(value, op.operand(0), op.output)
    if op.attrs.get("fused_activation_function", "NONE") != "NONE":
        # XNNPACK takes 8 bits only.
        rounding = half_away if op.output.dtype == "int16" else np.rint
        low, high = lowering.bounds(op.output, rounding)
        value = lowering.add("MAXIMUM", value, lowering.constant(low))
        value = lowering.add("MINIMUM", value, lowering.constant(high))
    lowering.finish_centered(value)
