"""How tensors are stored on a device: in channel slices, or row-major as the host has them."""

from __future__ import annotations

import numpy as np

from ...ir import Array, Shape
from ...target import Target

LINEAR = "linear"
"""Storage: row-major and contiguous, as the host has it."""
SLICED = "sliced"
"""Storage: channels in slices of the target's width, [batch][slice][height][width][lane]."""


def bhwc(shape: Shape) -> tuple[int, int, int, int]:
    """A shape of rank up to 4 as (batch, height, width, channels), right-aligned with ones."""
    if len(shape) > 4:
        raise ValueError(f"rank {len(shape)} has no batch, height, width and channels")
    batch, height, width, channels = (1,) * (4 - len(shape)) + tuple(shape)
    return batch, height, width, channels


def slice_count(channels: int, target: Target) -> int:
    """How many slices hold that many channels."""
    return -(-channels // target.lanes)


def linear_bytes(shape: Shape) -> int:
    """Bytes of a row-major tensor: 4 for each element, whatever its type."""
    return 4 * int(np.prod(shape, dtype=np.int64))


def sliced_bytes(shape: Shape, target: Target) -> int:
    """Bytes of a tensor in channel slices."""
    batch, height, width, channels = bhwc(shape)
    return target.slice_bytes * batch * height * width * slice_count(channels, target)


def stored_bytes(shape: Shape, storage: str, target: Target) -> int:
    """Bytes of a tensor in that storage."""
    return sliced_bytes(shape, target) if storage == SLICED else linear_bytes(shape)


def pack_slices(data: Array, lanes: int) -> Array:
    """An array of rank up to 4 in channel slices: [batch][slice][height][width][lane], float32.

    Lanes past the last channel are zero.
    """
    batch, height, width, channels = bhwc(data.shape)
    slices = -(-channels // lanes)
    padded = np.zeros((batch, height, width, slices * lanes), np.float32)
    padded[..., :channels] = data.reshape(batch, height, width, channels)
    sliced = padded.reshape(batch, height, width, slices, lanes)
    return np.ascontiguousarray(sliced.transpose(0, 3, 1, 2, 4))


def device_array(data: Array) -> Array:
    """A constant as the device has it: float32 or int32, wider integers by their lower half."""
    if data.dtype.kind == "f":
        return np.asarray(data, np.float32)
    return np.asarray(data).astype(np.int32)
