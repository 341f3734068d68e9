"""The accessors of tensors in channel slices, and of row-major ones written slice by slice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeVar

from ..ir import Shape
from ..language import (
    FLOAT,
    Call,
    Choice,
    Element,
    Expression,
    Language,
    Name,
    Number,
    Operand,
    expression,
    horner,
    select,
)
from ..ops.base import bhwc
from ..target import Target
from .gaps import spread
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

    def called(self, intrinsic: str) -> str:
        """The name of an intrinsic, which the kernel then needs."""
        self.used.add(intrinsic)
        return intrinsic

    def call(self, intrinsic: str, *arguments: Operand, kind: str = FLOAT) -> Expression:
        """The call of an intrinsic with the array."""
        return Call(self.called(intrinsic), Name(self.array), *arguments, type=kind)

    @property
    def repeats(self) -> bool:
        """Whether the store contains the value's expression more than once."""
        return bool(self.tail)

    def splat(self, value: object) -> Expression:
        """A slice with the same value in every lane."""
        return Name(self.language.splat(str(value), self.lanes), FLOAT)

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

    def at(self, batch: Operand, row: Operand, column: Operand, slice: Operand) -> Expression:
        """The index of a slice in the array."""
        return self.nest(batch, slice, row, column) + self.base

    def nest(self, batch: Operand, *coordinates: Operand) -> Expression:
        """The index relative to the tensor's start, from the batch and coordinates in `nested`."""
        # Along an axis of size 1 the coordinate is always 0.
        given = (c if size > 1 else 0 for c, size in zip(coordinates, self.nested, strict=True))
        inner = zip(given, self.extents or self.nested, strict=True)
        return horner((batch if self.batches > 1 else 0, self.batches), *inner)

    def read(self, batch: Operand, row: Operand, column: Operand, slice: Operand) -> Expression:
        return self.slice_at(self.at(batch, row, column, slice))

    def slice_at(self, index: Operand) -> Expression:
        """The slice at an index of the array."""
        return Element(self.array, index, FLOAT)

    def lane_at(self, index: Operand, lane: Operand) -> Expression:
        """One lane of the slice at an index of the array."""
        return self.call("lane_of", index, lane)

    def assign(self, index: Operand, value: object) -> str:
        """The statement that stores a slice at an index of the array."""
        return f"{self.array}[{index}] = {value};"

    def lane(self, batch: Operand, row: Operand, column: Operand, channel: Operand) -> Expression:
        """One channel of one pixel."""
        if self.slices == 1:
            return self.lane_at(self.at(batch, row, column, 0), channel)
        slice, lane = channel // self.lanes, channel % self.lanes
        return self.lane_at(self.at(batch, row, column, slice), lane)

    def pixel(self, batch: Operand, row: Operand, column: Operand) -> Expression:
        """The index of a pixel's first slice, which `channel` and `slice_of` take."""
        return self.at(batch, row, column, 0)

    def channel(self, pixel: Operand, slice: Operand, lane: Operand) -> Expression:
        """One lane of a slice of the pixel at that index."""
        return self.lane_at(self._further(pixel, slice), lane)

    def slice_of(self, pixel: Operand, slice: Operand) -> Expression:
        """A slice of the pixel at that index."""
        return self.slice_at(self._further(pixel, slice))

    def _further(self, pixel: Operand, slice: Operand) -> Expression:
        offset = horner((slice, self.slices), (0, self.plane))
        return offset + pixel if isinstance(pixel, int) else pixel + offset

    def entry(self, index: Operand) -> Expression:
        """A float of the tensor by its number, where it is a row of slices."""
        return self.call("float_at", index + self.base * self.lanes)

    def broadcast(self, position: Position, channels: int) -> Expression:
        """The slice at a position in a tensor of `channels` channels to which this one broadcasts.

        A tensor with fewer channels, but more than one, is zero past its last slice.
        """
        if self.channels == 1 and channels > 1:
            lane = self.lane(position.batch, position.row, position.column, 0)
            return self.splat(lane)
        element = self.read(position.batch, position.row, position.column, position.slice)
        if self.channels == 1 or self.slices * self.lanes >= channels:
            return element
        inside = expression(position.slice) < self.slices
        chosen = select(inside, element, self.splat("0.0f"))
        return Name(f"({chosen})", FLOAT) if isinstance(chosen, Choice) else chosen

    def _is_last(self, slice: Operand) -> bool:
        """Whether `slice` is the last slice for every work-item."""
        return self.slices == 1 or expression(slice).value == self.slices - 1

    def _may_be_last(self, slice: Operand) -> bool:
        return expression(slice).value in (None, self.slices - 1)

    def write(self, position: Position, value: object) -> str:
        """The statement that stores a slice, with lanes past the last channel set to zero."""
        index = self.at(position.batch, position.row, position.column, position.slice)
        return self.assign(index, self.keep_tail(position, value))

    def keep_tail(self, position: Position, value: object) -> str:
        """The value with the lanes past the last channel set to zero."""
        if not self.tail or not self._may_be_last(position.slice):
            return str(value)
        kept = f"{self.called('keep_lanes')}({value}, {self.tail})"
        if self._is_last(position.slice):
            return kept
        return f"({position.slice} == {self.slices - 1}) ? {kept} : {value}"


@dataclass(frozen=True)
class FoursAccessor(SlicedAccessor):
    """Slices that a kernel writes four pixels at a time, as the columns of a matrix."""

    stored = "four"
    together = 4

    def part(self, number: int, value: object) -> str:
        """The statement that makes a slice a part of `joined`."""
        return f"joined[{number}] = {value};"

    def assign_joined(self, first: Expression) -> str:
        """The statement that stores `joined`, by the index of its first slice."""
        return f"{self.array}[({first}) >> 2] = joined;"


@dataclass(frozen=True)
class ImageAccessor(SlicedAccessor):
    """A tensor in slices of four lanes that a kernel reads as texels of an image buffer.

    Reading converts half precision to single precision.
    """

    texel: int = 16

    def slice_at(self, index: Operand) -> Expression:
        return self.call("read_texel", index)

    def lane_at(self, index: Operand, lane: Operand) -> Expression:
        return self.call("texel_lane", index, lane)

    def entry(self, index: Operand) -> Expression:
        texel = index // self.lanes + self.base
        return self.lane_at(texel, index % self.lanes)


@dataclass(frozen=True)
class WholeRowsAccessor(SlicedAccessor):
    """A row-major tensor of floats that a kernel writes slice by slice, each an array element.

    This takes whole slices, as otherwise their elements would not be aligned.
    """

    @property
    def nested(self) -> tuple[int, ...]:
        return self.height, self.width, self.slices

    def at(self, batch: Operand, row: Operand, column: Operand, slice: Operand) -> Expression:
        return self.nest(batch, row, column, slice) + self.base


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

    def write(self, position: Position, value: object) -> str:
        """The statements that store the lanes of a slice up to the last channel."""
        place = self._place(position)
        if not self.tail or not self._may_be_last(position.slice):
            return f"{self._whole(place, value)};"
        lanes = [
            self.set(place + number, self._whole_number(value, number))
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

    def _place(self, position: Position) -> Expression:
        """The index of a slice's first lane in the array.

        Where lanes are stored one by one, the pixels of a tile are at fixed distances from the
        first one: compilers do not find that out, and run out of registers for addresses.
        """
        first, further = expression(position.column).first_term
        if self.language.vector_stores or not (first.simple and further.simple):
            first, further = expression(position.column), Number(0)
        pixel = self.nest(position.batch, position.row, first, 0) + self.base
        place = pixel + horner((position.slice, self.slices), (0, self.lanes))
        return place + further * (self.extents or self.nested)[-1]

    def _whole(self, place: Operand, value: object) -> str:
        """The expression that stores all lanes of a slice."""
        return self.set_lanes(
            place, str(value) if self.zero_point is None else self.as_stored(value)
        )

    def _whole_number(self, value: object, number: int) -> str:
        """One lane of a value as it is stored."""
        lane = self.language.lane(str(value), number, self.lanes)
        if self.zero_point is None:
            return lane
        return f"{self.called('whole_number')}({lane}, {self.zero_point})"

    def set(self, place: Operand, value: object) -> str:
        """The statement that stores an element at an index of the array."""
        return f"{self.array}[{place}] = {value};"

    def set_lanes(self, place: Operand, value: object) -> str:
        """The expression that stores the elements of a slice from an index of the array on."""
        return f"{self.called('store_lanes')}({self.array}, {place}, {value})"

    def as_stored(self, lanes: object) -> str:
        """The lanes of a slice as the integers that are stored."""
        return f"{self.called(WHOLE_NUMBERS[self.narrow])}({lanes}, {self.zero_point})"
