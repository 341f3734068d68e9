"""TOPK_V2 and sorts of long rows are decomposed into steps, as their kernels compare all pairs.

values, places = TOPK_V2(x[4000], 10)
becomes   v, p = tflgpu.top_of_blocks(x) length=64 count=10 falling=True nan_first=False
          w, q = tflgpu.merge_tops(v, p) length=10 lists=4 count=10 ...
          values, places = ... until one list is left
"""

from __future__ import annotations

from ...ir import Tensor
from ...ops.arg_reduce import inserts
from ...ops.sort import SORT
from ...ops.top_k import BLOCKS, MERGE
from .decomposition import Decomposition, decomposes

LONG = 768
"""Values of a row from which the steps are faster, measured on PoCL and llvmpipe."""
SHORTEST = 64
"""Fewest values of a block."""
LONGEST = 256
"""Most values of a block; in between, a block has four times the values kept of it."""
LISTS = 4
"""Lists merged at once."""


@decomposes("TOPK_V2")
def in_steps(here: Decomposition) -> str | None:
    """Keep the top of each block, then merge the resulting lists, LISTS at a time."""
    size, count = here.op.operand(0).shape[-1], here.op.output.shape[-1]
    if size < LONG:
        return f"rows of {size} values are short"
    if inserts(size, count, here.target):
        return f"one work-item finds {count} of {size} values fast enough"
    here.finish(*_steps(here, count, falling=True, nan_first=False))
    return None


@decomposes(SORT)
def sort_in_steps(here: Decomposition) -> str | None:
    """Sort blocks, then merge the resulting lists, LISTS at a time."""
    size = here.op.output.shape[-1]
    if size < LONG:
        return f"rows of {size} values are short"
    here.finish(*_steps(here, size, **here.op.attrs))
    return None


def _steps(here: Decomposition, count: int, **order: bool) -> tuple[Tensor, ...]:
    size = here.op.operand(0).shape[-1]
    length = min(max(SHORTEST, 4 * count), LONGEST)
    types = [tensor.dtype for tensor in here.op.outputs]
    first = {"length": length, "count": count, **order}
    values, places = here.several(BLOCKS, (here.op.operand(0),), types, **first)
    stretch = length
    while stretch < size:
        step = {"length": min(count, stretch), "lists": LISTS, "count": count, **order}
        values, places = here.several(MERGE, (values, places), types, **step)
        stretch *= LISTS
    return values, places
