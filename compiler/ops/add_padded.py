"""tflgpu.add_padded: a sum whose second operand has fewer channels and is zero past the last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir import Array, Op
from .base import OpDef, define, same_as_first
from .elementwise import ELEMENTWISE, IMPLEMENTATIONS, Elementwise

NAME = "tflgpu.add_padded"


def reference(op: Op, arrays: Sequence[Array]) -> Sequence[Array]:
    """The narrower operand is added to the leading channels of the wider one."""
    wide, narrow = arrays
    result = np.array(wide)
    result[..., : narrow.shape[-1]] += narrow
    return [result]


ELEMENTWISE[NAME] = Elementwise(lambda f, a, b: a + b)
"""Accessors read zeros past the narrower operand's channels, so kernels just add."""

define(OpDef(NAME, same_as_first, IMPLEMENTATIONS, reference))
