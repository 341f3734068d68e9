"""RESIZE_BILINEAR of integers."""

from __future__ import annotations

from ...ops.quantized_resize import FIXED_POINT, NEAREST
from .lowering import Lowering, lowers


@lowers("RESIZE_BILINEAR")
def resize_bilinear(lowering: Lowering) -> None:
    """As XNNPACK resizes 8 bits, and LiteRT's own kernels int16 or to a size that is computed."""
    op = lowering.op
    source, size = op.operand(0), op.operand(1)
    image = lowering.centered(source)
    if source.dtype != "int16" and not size.folded:
        value = lowering.add(NEAREST, image, size, **op.attrs)
        lowering.finish_centered(lowering.reinterpreted(value, source, op.output))
        return
    if source.dtype == "uint8":
        raise lowering.declined("LiteRT resizes uint8 in floats, as the model computes the size")
    # Ties are rounded away from the stored integer 0, wherever the zero point lies.
    zero = lowering.constant(lowering.zero(source))
    value = lowering.add(
        FIXED_POINT, lowering.add("tflgpu.add_exact", image, zero), size, **op.attrs
    )
    back = lowering.constant(-lowering.zero(op.output))
    lowering.finish_centered(lowering.add("tflgpu.add_exact", value, back))
