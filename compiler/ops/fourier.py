"""RFFT2D and the operators on its complex result, REAL, IMAG and COMPLEX_ABS; shapes only.

No kernel handles complex numbers: `rewrites/decompose/fourier.py` computes real and imaginary parts
as separate tensors.
"""

from ..ir import Op, Shape
from .base.definition import define
from .base.shapes import same_as_first

PARTS = ("COMPLEX_ABS", "IMAG", "REAL")
"""Operators from complex to real tensors."""


def lengths(op: Op) -> tuple[int, int]:
    """Rows and columns of the transform, to which the input is cropped or padded (ModelError)."""
    sizes = op.integers(1)
    if len(sizes) != 2 or min(sizes) < 1 or len(op.operand(0).shape) < 2:
        raise op.invalid(
            f"cannot transform {list(op.operand(0).shape)} with the FFT lengths {sizes}"
        )
    return sizes[0], sizes[1]


def _infer(op: Op) -> list[Shape]:
    rows, columns = lengths(op)
    return [(*op.operand(0).shape[:-2], rows, columns // 2 + 1)]


_NOTE = "becomes products with constant matrices"
"""The start of the note in the operator table."""

define("RFFT2D x sizes:integer -> y", _infer, note=f"{_NOTE}, if read only by {', '.join(PARTS)}")
for _name in PARTS:
    define(f"{_name} x -> y", same_as_first, note=f"{_NOTE}, after RFFT2D")
