"""The accessor of row-major tensors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from ..ir import Shape
from ..language import FLOAT, INT, Call, Element, Expression, Name, Operand, expression, horner
from ..ops.base import bhwc
from .gaps import spread
from .position import Position

WHOLE_NUMBERS = {
    "": "whole_numbers",
    "int8": "int8_numbers",
    "uint8": "uint8_numbers",
    "uint16": "uint16_numbers",
}
"""The intrinsic that makes integers of a slice of floats, by their type in memory."""


@dataclass(frozen=True)
class LinearAccessor:
    """A tensor in row-major order."""

    array: str
    """Name of the kernel's parameter."""
    shape: Shape
    lanes: int
    """Lanes of a slice, for kernels that read channels slice by slice."""
    base: int = 0
    """Start of the tensor in the array, in elements."""
    element: str = "float"
    """Type of the elements in the kernel: float or int."""
    zero_point: int | None = None
    """What is added to floats to store them as integers; None to store elements as they are."""
    narrow: str = ""
    """int8, uint8 or uint16 if elements are stored so; "" for 32 bits."""
    run: int = 0
    """Elements of a run between two gaps; 0 if there are no gaps."""
    pitch: int = 0
    """Elements from the start of one run to the start of the next."""
    used: set[str] = field(default_factory=set, compare=False, repr=False)
    """Collects the names of the intrinsics that the accessor's text calls."""

    texel = 0
    repeats = False

    @property
    def stored(self) -> str:
        """Type of the elements in the array: float, int, or what `narrow` says."""
        return self.narrow or (self.element if self.zero_point is None else "int")

    pairs = False
    """No element of the array is two slices."""

    @classmethod
    def of(cls, array: str, shape: Shape, lanes: int, used: set[str]) -> LinearAccessor:
        return cls(array, tuple(shape), lanes, used=used)

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
        """Whether there are gaps between the tensor's elements."""
        return bool(self.run)

    @property
    def broken_rows(self) -> bool:
        """Whether a row has a gap between its first and its last element."""
        return bool(self.run and self.run % (self.width * self.channels))

    def flattened(self) -> LinearAccessor:
        """The same tensor with height and width as one axis."""
        batch, height, width, channels = bhwc(self.shape)
        return replace(self, shape=(batch, 1, height * width, channels))

    def in_runs(self, length: int, pitch: int) -> LinearAccessor | None:
        """The same tensor in runs of elements, a pitch apart; None if one splits the last axis."""
        return None if length % self.shape[-1] else replace(self, run=length, pitch=pitch)

    def based(self, index: Operand) -> Expression:
        """The index in the array, from the index relative to the start of the tensor."""
        return expression(index) + self.base

    def element_index(self, index: Operand) -> Expression:
        """The index in the array of the element at a flat index of the tensor."""
        if not self.run:
            return self.based(index)
        return self.based(index // self.run * self.pitch + index % self.run)

    def offset(self, batch: Operand, row: Operand, column: Operand, channel: Operand) -> Expression:
        """The index in the array of one channel of one pixel."""
        batches, *sizes = bhwc(self.shape)
        extents = spread(sizes, self.run, self.pitch) if self.run else sizes
        coordinates = zip((row, column, channel), sizes, strict=True)
        given = (c if size > 1 else 0 for c, size in coordinates)
        if extents is not None:
            return self.based(horner((batch, batches), *zip(given, extents, strict=True)))
        return self.element_index(horner((batch, batches), *zip(given, sizes, strict=True)))

    def at(self, place: Operand) -> Expression:
        """What is stored at an index of the array, which arithmetic takes for an int if narrow."""
        return Element(self.array, place, self.kind)

    def element_at(self, place: Operand) -> Expression:
        """The element at an index of the array, as a value of type `element`."""
        return self._as_element(self.at(place))

    def set(self, place: Operand, value: object) -> str:
        """The statement that stores a value, as it is to be stored, at an index of the array."""
        return f"{self.array}[{place}] = {value};"

    def set_element(self, place: Operand, value: object) -> str:
        """The statement that stores a value of type `element` at an index of the array."""
        if self.zero_point is not None:
            value = f"{self.called('whole_number')}({value}, {self.zero_point})"
        return self.set(place, value)

    def load_slice(self, place: Operand) -> Expression:
        """As many elements as a slice has lanes, from an index of the array on."""
        if self.zero_point is None:
            return self.call("load_lanes", place)
        return self._less_zero(self.call("load_integers", place))

    def store_slice(self, place: Operand, value: object) -> str:
        """The statement that stores the lanes of a slice from an index of the array on."""
        if self.zero_point is not None:
            value = f"{self.called(WHOLE_NUMBERS[self.narrow])}({value}, {self.zero_point})"
        return f"{self.called('store_lanes')}({self.array}, {place}, {value});"

    def called(self, intrinsic: str) -> str:
        """The name of an intrinsic, which the kernel then needs."""
        self.used.add(intrinsic)
        return intrinsic

    def call(self, intrinsic: str, *arguments: Operand, kind: str = FLOAT) -> Expression:
        """The call of an intrinsic with the array."""
        return Call(self.called(intrinsic), Name(self.array), *arguments, type=kind)

    def lane(self, batch: Operand, row: Operand, column: Operand, channel: Operand) -> Expression:
        """One channel of one pixel."""
        return self.element_at(self.offset(batch, row, column, channel))

    def pixel(self, batch: Operand, row: Operand, column: Operand) -> Expression:
        """The index of a pixel's first channel, which `channel` takes."""
        return self.offset(batch, row, column, 0)

    def channel(self, pixel: Operand, slice: Operand, lane: Operand) -> Expression:
        """One lane of a slice of the pixel at that index, as if the tensor were sliced."""
        return self.element_of(pixel, slice * self.lanes + lane)

    @property
    def with_sign(self) -> bool:
        """Whether bytes in memory have a sign."""
        return self.narrow == "int8"

    def word(self, pixel: Operand, slice: Operand, number: Operand) -> Expression:
        """Four bytes of the pixel at that index as one integer, as if the tensor were sliced."""
        place = slice * self.lanes + number * 4
        return self.call("word_at", pixel + place, kind=INT)

    def element_of(self, start: Operand, offset: Operand) -> Expression:
        """An element by base address and offset, for which CPU compilers generate better code."""
        return self._as_element(self.call("element_of", start, offset, kind=self.kind))

    def read(self, index: Operand) -> Expression:
        """The element at a flat index of the tensor, as a value of type `element`."""
        return self.element_at(self.element_index(index))

    @property
    def kind(self) -> str:
        """The type of what is stored, as kernels compute with it."""
        return FLOAT if self.element == FLOAT and not self.narrow else INT

    def _as_element(self, stored: Expression) -> Expression:
        # Functions such as max() do not take a char together with an int.
        element = Name(f"({self.element}){stored}", self.element) if self.narrow else stored
        return self._less_zero(element)

    def _less_zero(self, stored: Expression) -> Expression:
        """The floats that integers stand for which are stored plus a zero point."""
        if not self.zero_point:
            return stored
        sign = "-" if self.zero_point > 0 else "+"
        return Name(f"({stored} {sign} {abs(self.zero_point)}.0f)", FLOAT)

    def assign(self, index: Operand, value: object) -> str:
        """The statement that stores a value of type `element` at a flat index of the tensor."""
        return self.set_element(self.element_index(index), value)

    def entry(self, index: Operand) -> Expression:
        """An element of the tensor by its number."""
        return self.read(index)

    def write(self, position: Position, value: object) -> str:
        """The statement that stores an element, or a slice, at the position's flat index."""
        if position.lanes:
            return self.store_slice(self.element_index(position.index), value)
        return self.assign(position.index, value)

    def broadcast(self, position: Position, shape: Shape) -> Expression:
        """The element for a flat index of a tensor of shape `shape`, to which this one broadcasts.

        For a slice, as many elements, or the one for all of them if `one_a_row`. A tensor with
        fewer channels, but more than one, is zero past its last channel.
        """
        own = (1,) * (len(shape) - len(self.shape)) + self.shape
        terms = []
        for axis, size in enumerate(own):
            stride = prod(shape[axis + 1 :])
            coordinate = position.index // stride
            if axis and prod(shape[:axis]) > 1:
                coordinate = coordinate % shape[axis]
            terms.append((coordinate, size))
        index = position.index if own == tuple(shape) else horner(*terms)
        if position.lanes and not self.one_a_row(shape):
            return self.load_slice(self.element_index(index))
        element = self.read(index)
        if own and 1 < own[-1] < shape[-1]:
            inside = expression(terms[-1][0]) < own[-1]
            return Name(f"({inside} ? {element} : 0.0f)", FLOAT)
        return element

    def one_a_row(self, shape: Shape) -> bool:
        """Whether the elements of a row of a tensor of shape `shape` all share one of this."""
        return (1, *self.shape)[-1] < (1, *shape)[-1]
