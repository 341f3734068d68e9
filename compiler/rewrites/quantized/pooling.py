"""Pooling of integers."""

from __future__ import annotations

import numpy as np

from ...ops.fixed_point import half_away
from .lowering import Lowering, lowers


@lowers("AVERAGE_POOL_2D")
def average_pool(here: Lowering) -> None:
    """Sums of integers, divided with halves away from zero."""
    op = here.op
    zero = here.zero(op.output)
    if here.zero(op.operand(0)) != zero:
        raise here.declined("its operand and its result have unlike zero points")
    low, high = here.bounds(op.output, half_away)
    attrs = {**op.attrs, "fused_activation_function": "NONE"}
    image = here.centered(op.operand(0))
    value = here.add("tflgpu.average_pool_integers", image, zero=zero, low=low, high=high, **attrs)
    here.finish_centered(value)


@lowers("MAX_POOL_2D")
def max_pool(here: Lowering) -> None:
    """The integers stay the same, within the limits of the fused activation."""
    op = here.op
    attrs = {**op.attrs, "fused_activation_function": "NONE"}
    value = here.add(op.name, here.centered(op.operand(0)), **attrs)
    value = here.taken_over(value, op.operand(0), op.output)
    if op.attrs.get("fused_activation_function", "NONE") != "NONE":
        # XNNPACK takes 8 bits only.
        rounding = half_away if op.output.dtype == "int16" else np.rint
        low, high = here.bounds(op.output, rounding)
        value = here.add("MAXIMUM", value, here.constant(low))
        value = here.add("MINIMUM", value, here.constant(high))
    here.finish_centered(value)
