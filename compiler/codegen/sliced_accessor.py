"""Tensors in channel slices: [batch][slice][height][width], each element a slice of lanes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ..ir import Shape
from ..ops.base import bhwc
from .indexing import affine, horner, spread
from .position import Position


@dataclass(frozen=True)
class SlicedView:
    """A tensor in channel slices, [batch][slice][height][width], each element a slice of lanes."""

    array: str
    """Name of the kernel's parameter."""
    batches: int
    height: int
    width: int
    channels: int
    lanes: int
    base: int = 0
    """Where the tensor starts in the array, in slices of lanes."""
    extents: tuple[int, ...] = ()
    """Sizes of all axes but batches that strides follow from, if the tensor lies in runs."""

    element = "floatS"
    texel = 0
    """Bytes of what an image has instead of slices; 0 for a buffer."""

    @classmethod
    def of(cls, array: str, shape: Shape, lanes: int) -> SlicedView:
        return cls(array, *bhwc(shape), lanes)

    @property
    def slices(self) -> int:
        return -(-self.channels // self.lanes)

    @property
    def plane(self) -> int:
        """Elements from one slice of channels to the next."""
        return prod(self.extents[1:]) if self.extents else self.height * self.width

    @property
    def tail(self) -> int:
        """Lanes in use in the last slice; 0 if all are."""
        return self.channels % self.lanes

    def flattened(self) -> SlicedView:
        """The same tensor with height and width taken as one axis."""
        return replace(self, height=1, width=self.height * self.width)

    @property
    def gaps(self) -> bool:
        """Whether not all bytes from its first to its last are the tensor's."""
        return bool(self.extents)

    @property
    def nested(self) -> tuple[int, ...]:
        """Sizes of the axes within a batch, outermost first."""
        return self.slices, self.height, self.width

    def in_runs(self, length: int, pitch: int) -> SlicedView | None:
        """The same tensor in runs of elements, a pitch apart; None if its axes do not fit them."""
        extents = spread(self.nested, length, pitch)
        return None if extents is None else replace(self, extents=extents)

    def at(self, batch: str, row: str, column: str, slice: str) -> str:
        """Index of an element in the array."""
        index = self.nest(batch, slice, row, column)
        if not self.base:
            return index
        return str(self.base) if index == "0" else f"{self.base} + {index}"

    def nest(self, batch: str, *coordinates: str) -> str:
        """Index of an element in the tensor, from its batch and from where it is in `nested`."""
        # An axis of size 1 has but one coordinate, whatever the text says.
        given = (c if size > 1 else "0" for c, size in zip(coordinates, self.nested, strict=True))
        inner = zip(given, self.extents or self.nested, strict=True)
        return horner((batch if self.batches > 1 else "0", self.batches), *inner)

    def read(self, batch: str, row: str, column: str, slice: str) -> str:
        return self.slice_at(self.at(batch, row, column, slice))

    def slice_at(self, index: str) -> str:
        """The slice at an index of the array."""
        return f"{self.array}[{index}]"

    def lane_at(self, index: str, lane: str) -> str:
        """One lane of the slice at an index of the array."""
        return f"lane_of({self.array}, {index}, {lane})"

    def assign(self, index: str, value: str) -> str:
        """The statement that stores a slice at an index of the array."""
        return f"{self.array}[{index}] = {value};"

    def lane(self, batch: str, row: str, column: str, channel: str) -> str:
        """One channel of one pixel."""
        slice, lane = f"({channel}) / {self.lanes}", f"({channel}) % {self.lanes}"
        if channel == "0":
            slice, lane = "0", "0"
        return self.lane_at(self.at(batch, row, column, slice), lane)

    def pixel(self, batch: str, row: str, column: str) -> str:
        """Index of the first slice of a pixel, from which `channel` reads."""
        return self.at(batch, row, column, "0")

    def channel(self, pixel: str, slice: str, lane: str) -> str:
        """One lane of a slice of the pixel at that index."""
        return self.lane_at(self._further(pixel, slice), lane)

    def slice_of(self, pixel: str, slice: str) -> str:
        """A slice of the pixel at that index."""
        return self.slice_at(self._further(pixel, slice))

    def _further(self, pixel: str, slice: str) -> str:
        offset = horner((slice, self.slices), ("0", self.plane))
        return pixel if offset == "0" else f"{pixel} + {offset}"

    def broadcast(self, position: Position, channels: int) -> str:
        """The element that goes with a position of a larger tensor with that many channels.

        Past the last slice of a tensor of fewer channels are zeros.
        """
        if self.channels == 1 and channels > 1:
            return f"splatS({self.lane(position.batch, position.row, position.column, '0')})"
        element = self.read(position.batch, position.row, position.column, position.slice)
        if self.channels > 1 and self.slices * self.lanes < channels:
            return f"(({position.slice}) < {self.slices} ? {element} : splatS(0.0f))"
        return element

    def write(self, position: Position, value: str) -> str:
        """The statement that stores a slice, with zeros past the last channel."""
        index = self.at(position.batch, position.row, position.column, position.slice)
        return self.assign(index, self.keep_tail(position, value))

    def keep_tail(self, position: Position, value: str) -> str:
        """The value with the lanes past the last channel set to zero."""
        if not self.tail:
            return value
        if self.slices == 1:
            return f"keep_lanes({value}, {self.tail})"
        last = f"{position.slice} == {self.slices - 1}"
        return f"({last}) ? keep_lanes({value}, {self.tail}) : {value}"


@dataclass(frozen=True)
class HalfView(SlicedView):
    """A tensor in channel slices of half floats; kernels still compute in float.

    OpenCL's vload_half and GLSL's packHalf2x16 are core: no device lacks them.
    """

    element = "stored_half"

    def slice_at(self, index: str) -> str:
        return f"load_half({self.array}, {index})"

    def lane_at(self, index: str, lane: str) -> str:
        return f"half_lane({self.array}, {index}, {lane})"

    def assign(self, index: str, value: str) -> str:
        return f"store_half({self.array}, {index}, {value});"


@dataclass(frozen=True)
class ImageView(SlicedView):
    """A tensor in slices of four lanes that a kernel reads as texels of an image of its buffer.

    Half floats become floats on the way.
    """

    texel: int = 16

    def slice_at(self, index: str) -> str:
        return f"read_texel({self.array}, {index})"

    def lane_at(self, index: str, lane: str) -> str:
        return f"texel_lane({self.array}, {index}, {lane})"


@dataclass(frozen=True)
class RowsView(SlicedView):
    """A row-major tensor that a kernel writes by slices of channels."""

    element = "float"

    @property
    def nested(self) -> tuple[int, ...]:
        return self.height, self.width, self.channels

    def write(self, position: Position, value: str) -> str:
        """Statements that store the channels of a slice that exist."""
        pixel = self.nest(position.batch, position.row, position.column, "0")
        start = horner((position.slice, self.slices), ("0", self.lanes))
        terms = [term for term in (str(self.base or "0"), pixel, start) if term != "0"]
        place = " + ".join(terms) or "0"
        whole = f"store_lanes({self.array}, {place}, {value});"
        if not self.tail:
            return whole
        some = " ".join(
            f"{self.array}[{affine(place, 1, lane)}] = nth_lane({value}, {lane:x});"
            for lane in range(self.tail)
        )
        if self.slices == 1:
            return some
        return f"if ({position.slice} < {self.slices - 1}) {{ {whole} }} else {{ {some} }}"
