"""Pooling, means and sums of integers."""

from __future__ import annotations

from .lowering import Lowering, lowers


@lowers("AVERAGE_POOL_2D")
def average_pool(here: Lowering) -> None:
    """Sums of integers, divided with halves away from zero."""
    op = here.op
    zero = here.zero(op.output)
    low, high = here.bounds(op.output)
    attrs = {**op.attrs, "fused_activation_function": "NONE"}
    image = here.centered(op.operand(0))
    value = here.add("tflgpu.average_pool_integers", image, zero=zero, low=low, high=high, **attrs)
    here.finish_centered(value)
