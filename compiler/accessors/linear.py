"""The accessor of row-major tensors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from ..ir import Shape
from ..language import affine, horner, quotient, remainder, spread
from ..ops.base import bhwc
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

    def based(self, index: str) -> str:
        """The index in the array, from the index relative to the start of the tensor."""
        return affine(index, 1, self.base)

    def element_index(self, index: str) -> str:
        """The index in the array of the element at a flat index of the tensor."""
        if not self.run:
            return self.based(index)
        return self.based(affine(quotient(index, self.run), self.pitch, remainder(index, self.run)))

    def offset(self, batch: str, row: str, column: str, channel: str) -> str:
        """The index in the array of one channel of one pixel."""
        batches, *sizes = bhwc(self.shape)
        extents = spread(sizes, self.run, self.pitch) if self.run else sizes
        coordinates = zip((row, column, channel), sizes, strict=True)
        given = (c if size > 1 else "0" for c, size in coordinates)
        if extents is not None:
            return self.based(horner((batch, batches), *zip(given, extents, strict=True)))
        return self.element_index(horner((batch, batches), *zip(given, sizes, strict=True)))

    def at(self, place: str) -> str:
        """What is stored at an index of the array, which arithmetic takes for an int if narrow."""
        return f"{self.array}[{place}]"

    def element_at(self, place: str) -> str:
        """The element at an index of the array, as a value of type `element`."""
        return self._as_element(self.at(place))

    def set(self, place: str, value: str) -> str:
        """The statement that stores a value, as it is to be stored, at an index of the array."""
        return f"{self.array}[{place}] = {value};"

    def set_element(self, place: str, value: str) -> str:
        """The statement that stores a value of type `element` at an index of the array."""
        if self.zero_point is not None:
            value = self.call("whole_number", value, str(self.zero_point))
        return self.set(place, value)

    def load_slice(self, place: str) -> str:
        """As many elements as a slice has lanes, from an index of the array on."""
        if self.zero_point is None:
            return self.call("load_lanes", self.array, place)
        return self._less_zero(self.call("load_integers", self.array, place))

    def store_slice(self, place: str, value: str) -> str:
        """The statement that stores the lanes of a slice from an index of the array on."""
        if self.zero_point is not None:
            value = self.call(WHOLE_NUMBERS[self.narrow], value, str(self.zero_point))
        return self.call("store_lanes", self.array, place, value) + ";"

    def call(self, intrinsic: str, *arguments: str) -> str:
        """The call of an intrinsic."""
        self.used.add(intrinsic)
        return f"{intrinsic}({', '.join(arguments)})"

    def lane(self, batch: str, row: str, column: str, channel: str) -> str:
        """One channel of one pixel."""
        return self.element_at(self.offset(batch, row, column, channel))

    def pixel(self, batch: str, row: str, column: str) -> str:
        """The index of a pixel's first channel, which `channel` takes."""
        return self.offset(batch, row, column, "0")

    def channel(self, pixel: str, slice: str, lane: str) -> str:
        """One lane of a slice of the pixel at that index, as if the tensor were sliced."""
        return self.element_of(pixel, affine(slice, self.lanes, lane))

    @property
    def with_sign(self) -> bool:
        """Whether bytes in memory have a sign."""
        return self.narrow == "int8"

    def word(self, pixel: str, slice: str, number: str) -> str:
        """Four bytes of the pixel at that index as one integer, as if the tensor were sliced."""
        place = affine(slice, self.lanes, affine(number, 4))
        return self.call("word_at", self.array, affine(pixel, 1, place))

    def element_of(self, start: str, offset: str) -> str:
        """An element by base address and offset, for which CPU compilers generate better code."""
        return self._as_element(self.call("element_of", self.array, start, offset))

    def read(self, index: str) -> str:
        """The element at a flat index of the tensor, as a value of type `element`."""
        return self.element_at(self.element_index(index))

    def _as_element(self, stored: str) -> str:
        # Functions such as max() do not take a char together with an int.
        return self._less_zero(f"({self.element}){stored}" if self.narrow else stored)

    def _less_zero(self, stored: str) -> str:
        """The floats that integers stand for which are stored plus a zero point."""
        if not self.zero_point:
            return stored
        return f"({stored} {'-' if self.zero_point > 0 else '+'} {abs(self.zero_point)}.0f)"

    def assign(self, index: str, value: str) -> str:
        """The statement that stores a value of type `element` at a flat index of the tensor."""
        return self.set_element(self.element_index(index), value)

    def entry(self, index: str) -> str:
        """An element of the tensor by its number."""
        return self.read(index)

    def write(self, position: Position, value: str) -> str:
        """The statement that stores an element at the position's flat index."""
        return self.assign(position.index, value)

    def broadcast(self, position: Position, shape: Shape) -> str:
        """The element for a flat index of a tensor of shape `shape`, to which this one broadcasts.

        A tensor with fewer channels, but more than one, is zero past its last channel.
        """
        own = (1,) * (len(shape) - len(self.shape)) + self.shape
        if own == tuple(shape):
            return self.read(position.index)
        terms = []
        for axis, size in enumerate(own):
            stride = prod(shape[axis + 1 :])
            coordinate = quotient(position.index, stride)
            if axis and prod(shape[:axis]) > 1:
                coordinate = remainder(coordinate, shape[axis])
            terms.append((coordinate, size))
        element = self.read(horner(*terms))
        if own and 1 < own[-1] < shape[-1]:
            return f"({terms[-1][0]} < {own[-1]} ? {element} : 0.0f)"
        return element
