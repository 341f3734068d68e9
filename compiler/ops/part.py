"""When a part of a tensor is one stretch of its bytes, so that nothing has to be copied."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..devices import Profile
from ..ir import Shape, Tensor
from .base import Part, bhwc

ITEM_SIZE = 4


def row_major_part(part: Tensor, whole: Tensor, shape: Shape, starts: Sequence[int]) -> Part | None:
    """A part of that shape in row-major storage that begins at those coordinates.

    `shape` is the part's with all axes of the whole; the part itself may have dropped some.
    """
    return _stretch(part, whole, shape, whole.shape, starts, ITEM_SIZE)


def sliced_part(
    part: Tensor, whole: Tensor, starts: Sequence[int], profile: Profile
) -> Part | None:
    """A part in slices of channels that begins at that batch, row, column and channel."""
    inner, outer = bhwc(part.shape), bhwc(whole.shape)
    batch, row, column, channel = starts
    lanes = profile.slice_width
    if channel % lanes or (inner[3] % lanes and channel + inner[3] != outer[3]):
        return None  # other channels would lie where kernels rely on zeros
    sizes, extents = ((n[0], -(-n[3] // lanes), n[1], n[2]) for n in (inner, outer))
    start = (batch, channel // lanes, row, column)
    return _stretch(part, whole, sizes, extents, start, lanes * profile.lane_bytes)


def _stretch(
    part: Tensor,
    whole: Tensor,
    sizes: Sequence[int],
    extents: Sequence[int],
    starts: Sequence[int],
    width: int,
) -> Part | None:
    """Outside the first axis of which there is more than one entry, all others must be whole."""
    first = next((axis for axis, size in enumerate(sizes) if size > 1), len(sizes))
    if tuple(sizes[first + 1 :]) != tuple(extents[first + 1 :]):
        return None
    strides = (prod(extents[axis + 1 :]) for axis in range(len(extents)))
    offset = sum(start * stride for start, stride in zip(starts, strides, strict=True))
    return Part(part, whole, width * offset)
