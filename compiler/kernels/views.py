"""How a kernel reaches a tensor: the one place that knows how each storage is indexed.

A view turns coordinates, which are texts of integer expressions, into texts of memory accesses.
Both kernel languages index buffers the same way, so a view names no language.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ..ir import Shape
from ..ops.base import bhwc
from .indexing import affine, horner, spread


@dataclass(frozen=True)
class Position:
    """Where a work-item stands in the output: batch, row, column and slice, or a flat index."""

    batch: str = "0"
    row: str = "0"
    column: str = "0"
    slice: str = "0"
    index: str = "0"


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


@dataclass(frozen=True)
class LinearView:
    """A tensor in row-major order without gaps."""

    array: str
    shape: Shape
    lanes: int
    """Lanes a slice would have, for kernels that walk channels slice by slice."""
    base: int = 0
    """Where the tensor starts in the array, in elements."""
    element: str = "float"
    """Type of the elements in the kernel: float or int."""
    run: int = 0
    """Elements without a gap between them; 0 if there is no gap at all."""
    pitch: int = 0
    """Elements from the start of one run to that of the next."""

    texel = 0

    @classmethod
    def of(cls, array: str, shape: Shape, lanes: int) -> LinearView:
        return cls(array, tuple(shape), lanes)

    @property
    def batches(self) -> int:
        return bhwc(self.shape)[0]

    @property
    def height(self) -> int:
        return bhwc(self.shape)[1]

    @property
    def width(self) -> int:
        return bhwc(self.shape)[2]

    @property
    def channels(self) -> int:
        return bhwc(self.shape)[3]

    @property
    def gaps(self) -> bool:
        """Whether not all bytes from its first to its last are the tensor's."""
        return bool(self.run)

    @property
    def broken_rows(self) -> bool:
        """Whether there is a gap somewhere between the first and the last element of a row."""
        return bool(self.run and self.run % (self.width * self.channels))

    def flattened(self) -> LinearView:
        """The same tensor with height and width taken as one axis."""
        batch, height, width, channels = bhwc(self.shape)
        return replace(self, shape=(batch, 1, height * width, channels))

    def in_runs(self, length: int, pitch: int) -> LinearView | None:
        """The same tensor in runs of elements, a pitch apart; None if they break its last axis."""
        return None if length % self.shape[-1] else replace(self, run=length, pitch=pitch)

    def based(self, index: str) -> str:
        """Index in the array of what has that index from where the tensor starts."""
        if not self.base:
            return index
        return str(self.base) if index == "0" else f"{self.base} + {index}"

    def element_index(self, index: str) -> str:
        """Index in the array of an element by its number in row-major order."""
        if not self.run:
            return self.based(index)
        inner = f"({index})" if not index.isalnum() else index
        return self.based(f"{inner} / {self.run} * {self.pitch} + {inner} % {self.run}")

    def offset(self, batch: str, row: str, column: str, channel: str) -> str:
        """Index of one channel of one pixel."""
        batches, *sizes = bhwc(self.shape)
        extents = spread(sizes, self.run, self.pitch) if self.run else sizes
        coordinates = zip((row, column, channel), sizes, strict=True)
        given = (c if size > 1 else "0" for c, size in coordinates)
        if extents is not None:
            return self.based(horner((batch, batches), *zip(given, extents, strict=True)))
        return self.element_index(horner((batch, batches), *zip(given, sizes, strict=True)))

    def lane(self, batch: str, row: str, column: str, channel: str) -> str:
        """One channel of one pixel."""
        return f"{self.array}[{self.offset(batch, row, column, channel)}]"

    def pixel(self, batch: str, row: str, column: str) -> str:
        """Index of the first channel of a pixel, from which `channel` reads."""
        return self.offset(batch, row, column, "0")

    def channel(self, pixel: str, slice: str, lane: str) -> str:
        """One lane of what would be a slice of the pixel at that index."""
        offset = lane if slice == "0" else f"{slice} * {self.lanes} + {lane}"
        return f"element_of({self.array}, {pixel}, {offset})"

    def read(self, index: str) -> str:
        return f"{self.array}[{self.element_index(index)}]"

    def write(self, position: Position, value: str) -> str:
        """The statement that stores an element at a flat position."""
        return f"{self.read(position.index)} = {value};"

    def broadcast(self, position: Position, shape: Shape) -> str:
        """The element that goes with a flat position of a larger tensor of that shape.

        Past the last channel of a tensor of fewer channels are zeros.
        """
        own = (1,) * (len(shape) - len(self.shape)) + self.shape
        if own == tuple(shape):
            return self.read(position.index)
        terms = []
        for axis, size in enumerate(own):
            stride = prod(shape[axis + 1 :])
            coordinate = position.index if stride == 1 else f"({position.index}) / {stride}"
            if axis and prod(shape[:axis]) > 1:
                coordinate = f"({coordinate}) % {shape[axis]}"
            terms.append((coordinate, size))
        element = self.read(horner(*terms))
        if own and 1 < own[-1] < shape[-1]:
            return f"(({terms[-1][0]}) < {own[-1]} ? {element} : 0.0f)"
        return element


View = SlicedView | LinearView
