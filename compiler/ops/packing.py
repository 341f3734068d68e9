"""Arrays in the order of the storages: what the host does to constants, a kernel to tensors."""

from __future__ import annotations

import numpy as np

from ..devices import Profile
from ..ir import Array, Shape
from .base import bhwc


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


def storage_bytes(shape: Shape, profile: Profile | None) -> int:
    """Bytes of a tensor in slices as the profile has them; row-major without a profile.

    Row-major elements take 4 bytes whatever their type.
    """
    if profile is None:
        return 4 * int(np.prod(shape, dtype=np.int64))
    batch, height, width, channels = bhwc(shape)
    lanes = -(-channels // profile.slice_width) * profile.slice_width
    return profile.lane_bytes * batch * height * width * lanes
