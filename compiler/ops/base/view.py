"""Views: tensors whose bytes are some of another tensor's, so that nothing has to be copied."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ...ir import Shape, Tensor
from ...target import Target
from .storage import bhwc, element_bytes, lane_of, slice_bytes

_ALIKE = "{} and {} are stored in other elements"


@dataclass(frozen=True)
class StridedLayout:
    """A tensor's bytes as runs of equal length that start a fixed pitch apart."""

    start: int  # Offset of the first run, in bytes.
    length: int  # Bytes of a run.
    # Bytes from the start of one run to the start of the next; `length` if there is no gap.
    pitch: int

    @property
    def contiguous(self) -> bool:
        return self.pitch == self.length

    def span(self, size: int) -> int:
        """Bytes from the first to the last byte of a tensor of `size` bytes."""
        if self.contiguous:
            return size
        return (size // self.length - 1) * self.pitch + self.length


@dataclass(frozen=True)
class View:
    """A tensor whose bytes are some of its base's; both have the same storage."""

    tensor: Tensor
    base: Tensor
    layout: StridedLayout  # The tensor's bytes within the base.


def row_major_view(tensor: Tensor, base: Tensor, shape: Shape, starts: Sequence[int]) -> View | str:
    """The view of shape `shape` that starts at coordinates `starts` of a row-major base.

    `shape` has all axes of the base, some of which the tensor itself may have dropped. Returns the
    reason if no view fits.
    """
    if tensor.whole != base.whole:
        return _ALIKE.format(tensor.name, base.name)
    return _view(tensor, base, shape, base.shape, tuple(starts), element_bytes(tensor))


def sliced_view(tensor: Tensor, base: Tensor, starts: Sequence[int], target: Target) -> View | str:
    """The view from (batch, row, column, channel) of a base in slices, or why none fits."""
    if lane_of(tensor, target) != lane_of(base, target):
        return _ALIKE.format(tensor.name, base.name)
    inner, outer = bhwc(tensor.shape), bhwc(base.shape)
    batch, row, column, channel = starts
    lanes = target.lanes
    if channel % lanes or (inner[3] % lanes and channel + inner[3] != outer[3]):
        # Its last slice would hold the base's next channels where kernels rely on zeros.
        return f"{tensor.name} does not start and end on slices of {lanes} channels"
    sizes, extents = ((n[0], -(-n[3] // lanes), n[1], n[2]) for n in (inner, outer))
    start = (batch, channel // lanes, row, column)
    return _view(tensor, base, sizes, extents, start, slice_bytes(tensor, target))


def _view(
    tensor: Tensor, base: Tensor, sizes: Shape, extents: Shape, starts: Shape, item_bytes: int
) -> View | str:
    """Runs along the one axis that is cut; more than one cut axis would need several pitches."""
    axes = range(len(sizes))
    cut = max((axis for axis in axes if sizes[axis] != extents[axis]), default=0)
    outer = next((axis for axis in range(cut) if sizes[axis] > 1), cut)
    if sizes[outer + 1 : cut] != extents[outer + 1 : cut]:
        return f"{tensor.name} is cut along two axes"
    strides = (prod(extents[axis + 1 :]) for axis in axes)
    start = item_bytes * sum(at * stride for at, stride in zip(starts, strides, strict=True))
    length = item_bytes * prod(sizes[cut:])
    pitch = length if outer == cut else item_bytes * prod(extents[cut:])
    return View(tensor, base, StridedLayout(start, length, pitch))
