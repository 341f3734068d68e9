"""Tensors that lie within others, so that nothing has to be copied, and how they lie there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ....runtime.plan.storage import ITEM_SIZE
from ...ir import Shape, Tensor
from ...target import Target
from .storage import bhwc


@dataclass(frozen=True)
class StridedLayout:
    """Where a tensor's bytes are: in runs of equal length, which start a fixed pitch apart."""

    start: int
    """Where the first run starts, in bytes."""
    length: int
    pitch: int
    """Bytes from the start of one run to that of the next; the length where there is no gap."""

    @property
    def contiguous(self) -> bool:
        return self.pitch == self.length

    def span(self, size: int) -> int:
        """Bytes from the first to the last of a tensor of that size."""
        if self.contiguous:
            return size
        return (size // self.length - 1) * self.pitch + self.length


@dataclass(frozen=True)
class View:
    """A tensor whose bytes are some of another one's, in the storage they both have."""

    tensor: Tensor
    base: Tensor
    layout: StridedLayout
    """Where its bytes are in the base."""


def row_major_view(tensor: Tensor, base: Tensor, shape: Shape, starts: Sequence[int]) -> View | str:
    """A view of that shape that begins at those coordinates of a row-major base.

    `shape` is the tensor's with all axes of the base; the tensor itself may have dropped some. If
    there is no such view, the reason.
    """
    return _view(tensor, base, shape, base.shape, starts, ITEM_SIZE)


def sliced_view(tensor: Tensor, base: Tensor, starts: Sequence[int], target: Target) -> View | str:
    """A view that begins at that batch, row, column and channel of a base in channel slices.

    If there is no such view, the reason.
    """
    inner, outer = bhwc(tensor.shape), bhwc(base.shape)
    batch, row, column, channel = starts
    lanes = target.lanes
    if channel % lanes or (inner[3] % lanes and channel + inner[3] != outer[3]):
        # Other channels would lie where kernels rely on zeros.
        return f"{tensor.name} does not begin and end at whole slices of {lanes} channels"
    sizes, extents = ((n[0], -(-n[3] // lanes), n[1], n[2]) for n in (inner, outer))
    start = (batch, channel // lanes, row, column)
    return _view(tensor, base, sizes, extents, start, target.slice_bytes)


def _view(
    tensor: Tensor,
    base: Tensor,
    sizes: Sequence[int],
    extents: Sequence[int],
    starts: Sequence[int],
    item_bytes: int,
) -> View | str:
    """Runs along the one axis that is cut: several cut axes would need several pitches."""
    axes = range(len(sizes))
    cut = max((axis for axis in axes if sizes[axis] != extents[axis]), default=0)
    outer = next((axis for axis in range(cut) if sizes[axis] > 1), cut)
    if tuple(sizes[outer + 1 : cut]) != tuple(extents[outer + 1 : cut]):
        return f"{tensor.name} is cut along two axes"
    strides = (prod(extents[axis + 1 :]) for axis in axes)
    start = item_bytes * sum(at * stride for at, stride in zip(starts, strides, strict=True))
    length = item_bytes * prod(sizes[cut:])
    pitch = length if outer == cut else item_bytes * prod(extents[cut:])
    return View(tensor, base, StridedLayout(start, length, pitch))
