"""When a part of a tensor is runs of its bytes, so that nothing has to be copied."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ...runtime.plan.storage import ITEM_SIZE
from ..devices import Profile
from ..ir import Shape, Tensor
from .base import Part, Runs, bhwc


def row_major_part(part: Tensor, whole: Tensor, shape: Shape, starts: Sequence[int]) -> Part | str:
    """A part of that shape in row-major storage that begins at those coordinates, or a refusal.

    `shape` is the part's with all axes of the whole; the part itself may have dropped some.
    """
    return _stretch(part, whole, shape, whole.shape, starts, ITEM_SIZE)


def sliced_part(part: Tensor, whole: Tensor, starts: Sequence[int], profile: Profile) -> Part | str:
    """A part in slices that begins at that batch, row, column and channel, or a refusal."""
    inner, outer = bhwc(part.shape), bhwc(whole.shape)
    batch, row, column, channel = starts
    lanes = profile.slice_width
    if channel % lanes or (inner[3] % lanes and channel + inner[3] != outer[3]):
        # Other channels would lie where kernels rely on zeros.
        return f"{part.name} does not begin and end at whole slices of {lanes} channels"
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
) -> Part | str:
    """Runs along the axis that is cut; a refusal if several are, as runs have but one pitch."""
    axes = range(len(sizes))
    cut = max((axis for axis in axes if sizes[axis] != extents[axis]), default=0)
    outer = next((axis for axis in range(cut) if sizes[axis] > 1), cut)
    if tuple(sizes[outer + 1 : cut]) != tuple(extents[outer + 1 : cut]):
        return f"{part.name} is cut out along two axes"
    strides = (prod(extents[axis + 1 :]) for axis in axes)
    start = width * sum(at * stride for at, stride in zip(starts, strides, strict=True))
    length = width * prod(sizes[cut:])
    pitch = length if outer == cut else width * prod(extents[cut:])
    return Part(part, whole, Runs(start, length, pitch))
