"""Pooling and resizing of integers."""

import numpy as np

from ...ir import Tensor
from ...ops.base.definition import activation_of
from ...ops.elementwise.fixed_point import half_away
from ...ops.images.resize import FIXED_POINT, NEAREST
from .lowering import Lowering, lowers


@lowers("AVERAGE_POOL_2D")
def average_pool(here: Lowering) -> Tensor:
    """Sums of integers, divided with halves away from zero."""
    op = here.op
    zero = here.zero(op.output)
    if here.zero(op.operand(0)) != zero:
        raise here.declined("its operand and its result have unlike zero points")
    low, high = here.bounds(op.output, half_away)
    image, attrs = here.centered(op.operand(0)), here.unfused
    return here.add("tflgpu.average_pool_integers", image, zero=zero, low=low, high=high, **attrs)


@lowers("MAX_POOL_2D")
def max_pool(here: Lowering) -> Tensor:
    """The integers stay the same, within the limits of the fused activation."""
    op = here.op
    value = here.add(op.name, here.centered(op.operand(0)), **here.unfused)
    value = here.reinterpreted(value, op.operand(0), op.output)
    if activation_of(op) is not None:
        # XNNPACK takes 8 bits only.
        rounding = half_away if op.output.dtype == "int16" else np.rint
        low, high = here.bounds(op.output, rounding)
        value = here.add("MAXIMUM", value, here.constant(low))
        value = here.add("MINIMUM", value, here.constant(high))
    return value


@lowers("RESIZE_BILINEAR")
def resize_bilinear(here: Lowering) -> Tensor:
    """As XNNPACK resizes 8 bits, and LiteRT's own kernels int16 or to a size that is computed."""
    op = here.op
    source, size = op.operand(0), op.operand(1)
    image = here.centered(source)
    if source.dtype != "int16" and not size.folded:
        value = here.add(NEAREST, image, size, **op.attrs)
        return here.reinterpreted(value, source, op.output)
    if source.dtype == "uint8":
        raise here.declined("LiteRT resizes uint8 in floats, as the model computes the size")
    # Ties are rounded away from the stored integer 0, wherever the zero point lies.
    zero = here.constant(here.zero(source))
    value = here.add(FIXED_POINT, here.add("tflgpu.add_exact", image, zero), size, **op.attrs)
    back = here.constant(-here.zero(op.output))
    return here.add("tflgpu.add_exact", value, back)
