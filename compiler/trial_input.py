"""Arrays for the inputs of a model that is run to be measured or compared."""

from __future__ import annotations

import numpy as np

from ..runtime.errors import InputError
from ..runtime.plan.records import TensorInfo
from .ir import Array

LARGEST_RANDOM_INTEGER = 8
"""Integer inputs are mostly indices, and small ones are valid for most tables."""


def trial_input(info: TensorInfo) -> Array:
    """Random numbers in [-1, 1] for an input, always the same; integers are zeros, which are valid
    as indices, and strings are empty."""
    if info.dtype == "string":
        return np.full(info.shape, b"", object)
    if np.dtype(info.dtype).kind != "f":
        return np.zeros(info.shape, info.dtype)
    return np.random.default_rng(7).uniform(-1, 1, info.shape).astype(info.dtype)


def random_input(info: TensorInfo, generator: np.random.Generator) -> Array:
    """Normally distributed floats, 8-bit integers of the whole range, small positive wider ones.

    Strings are the digits of small positive integers. InputError for complex inputs.
    """
    if info.dtype == "string":
        numbers = generator.integers(1, LARGEST_RANDOM_INTEGER, info.shape, endpoint=True)
        return numbers.astype(str).astype(object)
    dtype = np.dtype(info.dtype)
    if dtype.kind == "f":
        return generator.standard_normal(info.shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, info.shape).astype(dtype)
    if dtype.kind not in "iu":
        raise InputError(
            f"input {info.name} is {info.dtype}, for which there are no random numbers; pass a "
            f".npy file"
        )
    if dtype.itemsize == 1:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, info.shape, dtype, endpoint=True)
    return generator.integers(1, LARGEST_RANDOM_INTEGER, info.shape, dtype, endpoint=True)
