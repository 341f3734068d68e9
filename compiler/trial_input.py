"""Arrays for the inputs of a model that is only run to be measured."""

from __future__ import annotations

import numpy as np

from ..runtime.plan.records import TensorInfo
from .ir import Array


def trial_input(info: TensorInfo) -> Array:
    """Random numbers in [-1, 1] for an input, always the same; integers are zeros, which are valid
    as indices, and strings are empty."""
    if info.dtype == "string":
        return np.full(info.shape, b"", object)
    if np.dtype(info.dtype).kind != "f":
        return np.zeros(info.shape, info.dtype)
    return np.random.default_rng(7).uniform(-1, 1, info.shape).astype(info.dtype)
