"""How tensors are stored on a device: in channel slices, or row-major as on the host."""

from __future__ import annotations

import numpy as np

from ...ir import Array, Shape
from ...target import Target

LINEAR = "linear"
"""Row-major storage, as on the host."""
SLICED = "sliced"
"""Channels in slices of the target's width: [batch][slice][height][width][lane]."""


def bhwc(shape: Shape) -> tuple[int, int, int, int]:
    """A shape of rank up to 4 as (batch, height, width, channels), padded with ones in front.

    ValueError for a higher rank.
    """
    if len(shape) > 4:
        raise ValueError(f"rank {len(shape)} has no batch, height, width and channels")
    batch, height, width, channels = (1,) * (4 - len(shape)) + tuple(shape)
    return batch, height, width, channels


def slice_count(channels: int, target: Target) -> int:
    """The number of slices that hold `channels` channels."""
    return -(-channels // target.lanes)


def linear_bytes(shape: Shape) -> int:
    """Bytes of a row-major tensor: 4 per element, whatever its type."""
    return 4 * int(np.prod(shape, dtype=np.int64))


def sliced_bytes(shape: Shape, target: Target) -> int:
    """Bytes of a tensor in channel slices, lanes past the last channel included."""
    batch, height, width, channels = bhwc(shape)
    return target.slice_bytes * batch * height * width * slice_count(channels, target)


def stored_bytes(shape: Shape, storage: str, target: Target) -> int:
    """Bytes of a tensor in the given storage."""
    return sliced_bytes(shape, target) if storage == SLICED else linear_bytes(shape)


def pack_slices(data: Array, lanes: int) -> Array:
    """An array of rank up to 4 as float32 [batch][slice][height][width][lane].

    Lanes past the last channel are zero.
    """
    batch, height, width, channels = bhwc(data.shape)
    slices = -(-channels // lanes)
    padded = np.zeros((batch, height, width, slices * lanes), np.float32)
    padded[..., :channels] = data.reshape(batch, height, width, channels)
    sliced = padded.reshape(batch, height, width, slices, lanes)
    return np.ascontiguousarray(sliced.transpose(0, 3, 1, 2, 4))


def device_array(data: Array) -> Array:
    """A constant in its device type, float32 or int32; wider integers keep their low 32 bits."""
    if data.dtype.kind == "f":
        return np.asarray(data, np.float32)
    return np.asarray(data).astype(np.int32)
