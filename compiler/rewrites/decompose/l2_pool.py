"""Roots of mean squares."""

from __future__ import annotations

from .decomposition import Decomposition, decomposes


@decomposes("L2_POOL_2D")
def l2_pool(here: Decomposition) -> str | None:
    """The root of the average of the squares in each window."""
    squares = here.add("SQUARE", here.op.operand(0))
    means = here.add("AVERAGE_POOL_2D", squares, **here.op.attrs)
    here.finish(here.add("SQRT", means))
    return None
