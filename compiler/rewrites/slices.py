"""SLICE operators that rewrites add."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Op, Tensor, constant


def slice_of(whole: Tensor, begin: Sequence[int], part: Tensor, index: int) -> Op:
    """The operator that copies a part of a tensor from a corner on into a tensor of its size."""
    corner = constant(f"{part.name}/start", np.array(begin, np.int32))
    extent = constant(f"{part.name}/size", np.array(part.shape, np.int32))
    return Op("SLICE", (whole, corner, extent), (part,), {}, index)
