"""Slices that begin at computed places become windows taken there.

y = STRIDED_SLICE(x[5, 7], begin, end, [1, 2]) begin_mask=2 end_mask=2 shrink_axis_mask=1
becomes   t = tflgpu.take_windows(x, begin[:1]) axes=(0,) window=(1, 7)   y = t[0, ::2]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...ir import Tensor
from ...ops.slice import strided_at_computed
from ...ops.windows import TAKE
from .decomposition import Decomposition, decomposes


@decomposes("SLICE")
def computed_slice(here: Decomposition) -> Tensor | str:
    """One window, if its start is computed."""
    x, begin = here.op.operand(0), here.op.operand(1)
    if begin.constant:
        return "it begins at a constant place"
    shape = here.op.output.shape
    starts = here.reshape(begin, (1, len(shape)))
    taken = here.add(TAKE, x, starts, axes=tuple(range(len(shape))), window=shape)
    return here.reshape(taken, shape)


@decomposes("STRIDED_SLICE")
def computed_strided_slice(here: Decomposition) -> Tensor | str:
    """One window with the axes that are dropped at their first place, and a slice of that."""
    x, begin, _, strides = (here.op.operand(i) for i in range(4))
    if begin.constant:
        return "it begins at a constant place"
    singles = strided_at_computed(here.op).singles
    if singles:
        x = _at_places(here, x, begin, *zip(*singles, strict=True))
    first = here.constant(np.zeros(begin.shape), "int32")
    last = here.constant(np.ones(begin.shape), "int32")
    return here.add("STRIDED_SLICE", x, first, last, strides, **here.op.attrs)


def _at_places(
    here: Decomposition, x: Tensor, begin: Tensor, entries: Sequence[int], axes: Sequence[int]
) -> Tensor:
    """The part of `x` that has the places in those entries of `begin` alone along those axes."""
    window = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    places = _from_start(here, begin, entries, [x.shape[axis] for axis in axes])
    starts = here.reshape(places, (1, len(axes)))
    return here.reshape(here.add(TAKE, x, starts, axes=tuple(axes), window=window), window)


def _from_start(
    here: Decomposition, begin: Tensor, entries: Sequence[int], sizes: Sequence[int]
) -> Tensor:
    """Those entries of `begin`, negative ones counted from the end of axes of those sizes."""
    places = here.add("GATHER", begin, here.constant(entries, "int32"), axis=0, batch_dims=0)
    zero = here.constant(0, begin.dtype)
    behind = here.add("ADD", places, here.constant(sizes, begin.dtype))
    return here.add(
        *("SELECT_V2", here.add("LESS", places, zero, dtype="bool"), behind, places),
        dtype=begin.dtype,
    )
