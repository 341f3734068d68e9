"""RESIZE_BILINEAR of integers."""

from __future__ import annotations

from .lowering import Lowering, lowers


@lowers("RESIZE_BILINEAR")
def resize_bilinear(here: Lowering) -> None:
    """Weights of 11 fractional bits, rounded once at the end."""
    op = here.op
    if op.output.dtype == "int16":
        raise here.declined("there is no formula for int16")
    image = here.centered(op.operand(0))
    value = here.add("tflgpu.resize_bilinear_integers", image, op.operand(1), **op.attrs)
    here.finish_centered(here.taken_over(value, op.operand(0), op.output))
