"""Pooling and resizing of integers."""

import numpy as np

from ...ir import Tensor
from ...ops.base import activation_of
from ...ops.fixed_point import half_away
from ...ops.resize import FIXED_POINT, NEAREST
from .lowering import Lowering, lowers


@lowers("AVERAGE_POOL_2D")
def average_pool(lowering: Lowering) -> Tensor:
    """Sums of integers, divided with halves away from zero."""
    op = lowering.op
    zero = lowering.zero(op.output)
    if lowering.zero(op.operand(0)) != zero:
        raise lowering.declined("its operand and its result have unlike zero points")
    low, high = lowering.bounds(op.output, half_away)
    image, attrs = lowering.centered(op.operand(0)), lowering.unfused
    return lowering.add(
        "tflgpu.average_pool_integers", image, zero=zero, low=low, high=high, **attrs
    )


@lowers("MAX_POOL_2D")
def max_pool(lowering: Lowering) -> Tensor:
    """The integers stay the same, within the limits of the fused activation."""
    op = lowering.op
    value = lowering.add(op.name, lowering.centered(op.operand(0)), **lowering.unfused)
    value = lowering.reinterpreted(value, op.operand(0), op.output)
    if activation_of(op) is not None:
        # XNNPACK takes 8 bits only.
        rounding = half_away if op.output.dtype == "int16" else np.rint
        low, high = lowering.bounds(op.output, rounding)
        value = lowering.add("MAXIMUM", value, lowering.constant(low))
        value = lowering.add("MINIMUM", value, lowering.constant(high))
    return value


@lowers("RESIZE_BILINEAR")
def resize_bilinear(lowering: Lowering) -> Tensor:
    """As XNNPACK resizes 8 bits, and LiteRT's own kernels int16 or to a size that is computed."""
    op = lowering.op
    source, size = op.operand(0), op.operand(1)
    image = lowering.centered(source)
    if source.dtype != "int16" and not size.folded:
        value = lowering.add(NEAREST, image, size, **op.attrs)
        return lowering.reinterpreted(value, source, op.output)
    if source.dtype == "uint8":
        raise lowering.declined("LiteRT resizes uint8 in floats, as the model computes the size")
    # Ties are rounded away from the stored integer 0, wherever the zero point lies.
    zero = lowering.constant(lowering.zero(source))
    value = lowering.add(
        FIXED_POINT, lowering.add("tflgpu.add_exact", image, zero), size, **op.attrs
    )
    back = lowering.constant(-lowering.zero(op.output))
    return lowering.add("tflgpu.add_exact", value, back)
