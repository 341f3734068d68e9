"""Transposed convolutions of volumes."""

from __future__ import annotations

from ...ops.conv_3d_transpose import around, strides
from .decomposition import Decomposition, decomposes
from .dilate import spread, surround


@decomposes("CONV_3D_TRANSPOSE")
def conv_3d_transpose(here: Decomposition) -> str | None:
    """With zeros between the input's elements, it becomes a convolution with a flipped window."""
    op = here.op
    weights, bias = op.operand(1), op.input(3)
    for axis in range(3):
        weights = here.add("REVERSE_V2", weights, here.constant([axis], "int32"))
    weights = here.transpose(weights, (0, 1, 2, 4, 3))
    volume = spread(here, op.operand(2), (1, *strides(op), 1))
    volume = surround(here, volume, [(0, 0), *around(op), (0, 0)])
    options = {**op.attrs, "padding": "VALID", **{f"stride_{letter}": 1 for letter in "dhw"}}
    here.finish(here.add("CONV_3D", volume, weights, bias, **options))
    return None
