"""The accessors of tensors in channel slices, and of row-major ones written slice by slice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeVar

from ..ir import Shape
from ..language import Language, affine, horner, number, quotient, remainder, spread
from ..ops.base import bhwc
from ..target import Target
from .linear import WHOLE_NUMBERS
from .position import Position

Kind = TypeVar("Kind", bound="SlicedAccessor")
"""A class of accessors of slices."""


@dataclass(frozen=True)
class SlicedAccessor:
    """A tensor in channel slices, [batch][slice][height][width], each element a slice of lanes."""

    array: str
    """Name of the kernel's parameter."""
    batches: int
    height: int
    width: int
    channels: int
    lanes: int
    language: Language
    base: int = 0
    """Start of the tensor in the array, in array elements."""
    extents: tuple[int, ...] = ()
    """Sizes of the axes in `nested` that give the strides, if there are gaps; else ()."""
    used: set[str] = field(default_factory=set, compare=False, repr=False)
    """Collects the names of the intrinsics that the accessor's text calls."""

    stored = "slice"
    """The kind of array elements, as `Language.element` takes it."""
    texel = 0
    """Bytes of a texel of an image buffer; 0 for a buffer."""
    pairs = False
    """Whether an element of the array is two slices."""
    together = 1
    """Neighbouring pixels that are loaded or stored at once, as one element of the array."""

    @classmethod
    def of(cls: type[Kind], array: str, shape: Shape, target: Target, used: set[str]) -> Kind:
        return cls(array, *bhwc(shape), target.lanes, target.language, used=used)

    def call(self, intrinsic: str, *arguments: str) -> str:
        """The call of an intrinsic."""
        self.used.add(intrinsic)
        return f"{intrinsic}({', '.join(arguments)})"

    @property
    def repeats(self) -> bool:
        """Whether the store contains the value's expression more than once."""
        return bool(self.tail)

    def splat(self, value: str) -> str:
        """A slice with the same value in every lane."""
        return self.language.splat(value, self.lanes)

    @property
    def slices(self) -> int:
        return -(-self.channels // self.lanes)

    @property
    def plane(self) -> int:
        """Array elements from one slice of a pixel to the next."""
        return prod(self.extents[1:]) if self.extents else self.height * self.width

    @property
    def tail(self) -> int:
        """Lanes used in the last slice; 0 if all are."""
        return self.channels % self.lanes

    def flattened(self) -> SlicedAccessor:
        """The same tensor with height and width as one axis."""
        return replace(self, height=1, width=self.height * self.width)

    @property
    def gaps(self) -> bool:
        """Whether there are gaps between the tensor's elements."""
        return bool(self.extents)

    @property
    def nested(self) -> tuple[int, ...]:
        """Sizes of the axes within a batch, outermost first."""
        return self.slices, self.height, self.width

    def in_runs(self, length: int, pitch: int) -> SlicedAccessor | None:
        """The same tensor in runs of elements, a pitch apart; None if a run splits an axis."""
        extents = spread(self.nested, length, pitch)
        return None if extents is None else replace(self, extents=extents)

    def at(self, batch: str, row: str, column: str, slice: str) -> str:
        """The index of a slice in the array."""
        return affine(self.nest(batch, slice, row, column), 1, self.base)

    def nest(self, batch: str, *coordinates: str) -> str:
        """The index relative to the tensor's start, from the batch and coordinates in `nested`."""
        # Along an axis of size 1 the coordinate is always 0.
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
        return self.call("lane_of", self.array, index, lane)

    def assign(self, index: str, value: str) -> str:
        """The statement that stores a slice at an index of the array."""
        return f"{self.array}[{index}] = {value};"

    def lane(self, batch: str, row: str, column: str, channel: str) -> str:
        """One channel of one pixel."""
        if self.slices == 1:
            return self.lane_at(self.at(batch, row, column, "0"), channel)
        slice, lane = quotient(channel, self.lanes), remainder(channel, self.lanes)
        return self.lane_at(self.at(batch, row, column, slice), lane)

    def pixel(self, batch: str, row: str, column: str) -> str:
        """The index of a pixel's first slice, which `channel` and `slice_of` take."""
        return self.at(batch, row, column, "0")

    def channel(self, pixel: str, slice: str, lane: str) -> str:
        """One lane of a slice of the pixel at that index."""
        return self.lane_at(self._further(pixel, slice), lane)

    def slice_of(self, pixel: str, slice: str) -> str:
        """A slice of the pixel at that index."""
        return self.slice_at(self._further(pixel, slice))

    def _further(self, pixel: str, slice: str) -> str:
        offset = horner((slice, self.slices), ("0", self.plane))
        return affine(pixel, 1, offset)

    def entry(self, index: str) -> str:
        """A float of the tensor by its number, where it is a row of slices."""
        return self.call("float_at", self.array, affine(index, 1, self.base * self.lanes))

    def broadcast(self, position: Position, channels: int) -> str:
        """The slice at a position in a tensor of `channels` channels to which this one broadcasts.

        A tensor with fewer channels, but more than one, is zero past its last slice.
        """
        if self.channels == 1 and channels > 1:
            lane = self.lane(position.batch, position.row, position.column, "0")
            return self.splat(lane)
        element = self.read(position.batch, position.row, position.column, position.slice)
        if self.channels == 1 or self.slices * self.lanes >= channels:
            return element
        known = number(position.slice)
        if known is not None:
            return element if known < self.slices else self.splat("0.0f")
        return f"({position.slice} < {self.slices} ? {element} : {self.splat('0.0f')})"

    def _is_last(self, slice: str) -> bool:
        """Whether `slice` is the last slice for every work-item."""
        return self.slices == 1 or number(slice) == self.slices - 1

    def _may_be_last(self, slice: str) -> bool:
        return number(slice) in (None, self.slices - 1)

    def write(self, position: Position, value: str) -> str:
        """The statement that stores a slice, with lanes past the last channel set to zero."""
        index = self.at(position.batch, position.row, position.column, position.slice)
        return self.assign(index, self.keep_tail(position, value))

    def keep_tail(self, position: Position, value: str) -> str:
        """The value with the lanes past the last channel set to zero."""
        if not self.tail or not self._may_be_last(position.slice):
            return value
        kept = self.call("keep_lanes", value, str(self.tail))
        if self._is_last(position.slice):
            return kept
        return f"({position.slice} == {self.slices - 1}) ? {kept} : {value}"


@dataclass(frozen=True)
class FoursAccessor(SlicedAccessor):
    """Slices that a kernel writes four pixels at a time, as the columns of a matrix."""

    stored = "four"
    together = 4

    def part(self, number: int, value: str) -> str:
        """The statement that makes a slice a part of `joined`."""
        return f"joined[{number}] = {value};"

    def assign_joined(self, first: str) -> str:
        """The statement that stores `joined`, by the index of its first slice."""
        return f"{self.array}[({first}) >> 2] = joined;"


@dataclass(frozen=True)
class ImageAccessor(SlicedAccessor):
    """A tensor in slices of four lanes that a kernel reads as texels of an image buffer.

    Reading converts half precision to single precision.
    """

    texel: int = 16

    def slice_at(self, index: str) -> str:
        return self.call("read_texel", self.array, index)

    def lane_at(self, index: str, lane: str) -> str:
        return self.call("texel_lane", self.array, index, lane)

    def entry(self, index: str) -> str:
        texel = affine(quotient(index, self.lanes), 1, self.base)
        return self.lane_at(texel, remainder(index, self.lanes))


@dataclass(frozen=True)
class WholeRowsAccessor(SlicedAccessor):
    """A row-major tensor of floats that a kernel writes slice by slice, each an array element.

    This takes whole slices, as otherwise their elements would not be aligned.
    """

    @property
    def nested(self) -> tuple[int, ...]:
        return self.height, self.width, self.slices

    def at(self, batch: str, row: str, column: str, slice: str) -> str:
        return affine(self.nest(batch, row, column, slice), 1, self.base)


@dataclass(frozen=True)
class RowsAccessor(SlicedAccessor):
    """A row-major tensor that a kernel writes slice by slice."""

    zero_point: int | None = None
    """What is added to floats to store them as integers; None to store floats."""
    narrow: str = ""
    """int8, uint8 or uint16 if integers are stored so; "" for 32 bits."""

    @property
    def stored(self) -> str:  # type: ignore[override]
        return self.narrow or ("float" if self.zero_point is None else "int")

    @property
    def repeats(self) -> bool:
        return True

    @property
    def nested(self) -> tuple[int, ...]:
        return self.height, self.width, self.channels

    def write(self, position: Position, value: str) -> str:
        """The statements that store the lanes of a slice up to the last channel."""
        place = self._place(position)
        if not self.tail or not self._may_be_last(position.slice):
            return self._whole(place, value) + ";"
        lanes = [
            self.set(affine(place, 1, number), self._whole_number(value, number))
            for number in range(self.lanes)
        ]
        some = " ".join(lanes[: self.tail])
        if self._is_last(position.slice):
            return some
        if not self.language.vector_stores and not self.narrow:
            rest = " ".join(lanes[self.tail :])
            others = f"if ({position.slice} < {self.slices - 1}) {{ {rest} }}"
            return "\n".join([*lanes[: self.tail], others])
        whole = self._whole(place, value)
        return f"if ({position.slice} < {self.slices - 1}) {{ {whole}; }} else {{ {some} }}"

    def _place(self, position: Position) -> str:
        """The index of a slice's first lane in the array.

        Where lanes are stored one by one, the pixels of a tile are at fixed distances from the
        first one: compilers do not find that out, and run out of registers for addresses.
        """
        first, _, further = position.column.partition(" + ")
        if self.language.vector_stores or not (first.isidentifier() and further.isalnum()):
            first, further = position.column, "0"
        pixel = affine(self.nest(position.batch, position.row, first, "0"), 1, self.base)
        place = affine(pixel, 1, horner((position.slice, self.slices), ("0", self.lanes)))
        return affine(place, 1, affine(further, (self.extents or self.nested)[-1]))

    def _whole(self, place: str, value: str) -> str:
        """The expression that stores all lanes of a slice."""
        return self.set_lanes(place, value if self.zero_point is None else self.as_stored(value))

    def _whole_number(self, value: str, number: int) -> str:
        """One lane of a value as it is stored."""
        lane = self.language.lane(value, number, self.lanes)
        if self.zero_point is None:
            return lane
        return self.call("whole_number", lane, str(self.zero_point))

    def set(self, place: str, value: str) -> str:
        """The statement that stores an element at an index of the array."""
        return f"{self.array}[{place}] = {value};"

    def set_lanes(self, place: str, value: str) -> str:
        """The expression that stores the elements of a slice from an index of the array on."""
        return self.call("store_lanes", self.array, place, value)

    def as_stored(self, lanes: str) -> str:
        """The lanes of a slice as the integers that are stored."""
        return self.call(WHOLE_NUMBERS[self.narrow], lanes, str(self.zero_point))
