"""RESIZE_BILINEAR of integers."""

from __future__ import annotations

from .lowering import Lowering, lowers


@lowers("RESIZE_BILINEAR")
def resize_bilinear(lowering: Lowering) -> None:
    """Weights of 11 fractional bits, rounded once at the end."""
    op = lowering.op
    if op.output.dtype == "int16":
        raise lowering.declined("there is no formula for int16")
    image = lowering.centered(op.operand(0))
    value = lowering.add("tflgpu.resize_bilinear_integers", image, op.operand(1), **op.attrs)
    lowering.finish_centered(lowering.reinterpreted(value, op.operand(0), op.output))
