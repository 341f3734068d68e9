"""RFFT2D and what is made of its result: REAL, IMAG and COMPLEX_ABS; shapes only.

No kernel knows complex numbers: `compiler/expand/fourier.py` computes their two parts apart.
"""

from __future__ import annotations

from ..errors import ModelError
from ..ir import Op, Shape
from .base import OpDef, define, same_as_first

PARTS = ("COMPLEX_ABS", "IMAG", "REAL")
"""What is made of complex numbers."""


def lengths(op: Op) -> tuple[int, int]:
    """Rows and columns that are transformed: the input is cut or goes on with zeros."""
    sizes = [int(size) for size in op.constant(1).reshape(-1)]
    if len(sizes) != 2 or min(sizes) < 1 or len(op.operand(0).shape) < 2:
        raise ModelError(f"operator {op.index} {op.name}: {sizes} of {list(op.operand(0).shape)}")
    return sizes[0], sizes[1]


def _infer(op: Op) -> list[Shape]:
    rows, columns = lengths(op)
    return [(*op.operand(0).shape[:-2], rows, columns // 2 + 1)]


_NOTE = "becomes products with constant matrices"

define(
    OpDef("RFFT2D", _infer, note=f"{_NOTE}, in front of {', '.join(PARTS)}"),
    *(OpDef(name, same_as_first, note=f"{_NOTE}, behind RFFT2D") for name in PARTS),
)
