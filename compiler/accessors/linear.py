"""Tensors in row-major order, as the host has them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod

from ..ir import Shape
from ..language import affine, horner, quotient, remainder, spread
from ..ops.base import bhwc
from .position import Position


@dataclass(frozen=True)
class LinearAccessor:
    """A tensor in row-major order."""

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
    used: set[str] = field(default_factory=set, compare=False, repr=False)
    """Gets the names of the intrinsics that its texts call."""

    texel = 0
    repeats = False

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
        """Whether not all bytes from its first to its last are the tensor's."""
        return bool(self.run)

    @property
    def broken_rows(self) -> bool:
        """Whether there is a gap somewhere between the first and the last element of a row."""
        return bool(self.run and self.run % (self.width * self.channels))

    def flattened(self) -> LinearAccessor:
        """The same tensor with height and width taken as one axis."""
        batch, height, width, channels = bhwc(self.shape)
        return replace(self, shape=(batch, 1, height * width, channels))

    def in_runs(self, length: int, pitch: int) -> LinearAccessor | None:
        """The same tensor in runs of elements, a pitch apart; None if they break its last axis."""
        return None if length % self.shape[-1] else replace(self, run=length, pitch=pitch)

    def based(self, index: str) -> str:
        """Index in the array of what has that index from where the tensor starts."""
        return affine(index, 1, self.base)

    def element_index(self, index: str) -> str:
        """Index in the array of an element by its number in row-major order."""
        if not self.run:
            return self.based(index)
        return self.based(affine(quotient(index, self.run), self.pitch, remainder(index, self.run)))

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
        return self.element_of(pixel, affine(slice, self.lanes, lane))

    def element_of(self, start: str, offset: str) -> str:
        """An element by an address and a short way from it, which suits compilers of processors."""
        self.used.add("element_of")
        return f"element_of({self.array}, {start}, {offset})"

    def read(self, index: str) -> str:
        return f"{self.array}[{self.element_index(index)}]"

    def entry(self, index: str) -> str:
        """An element of the tensor by its number."""
        return self.read(index)

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
            coordinate = quotient(position.index, stride)
            if axis and prod(shape[:axis]) > 1:
                coordinate = remainder(coordinate, shape[axis])
            terms.append((coordinate, size))
        element = self.read(horner(*terms))
        if own and 1 < own[-1] < shape[-1]:
            return f"({terms[-1][0]} < {own[-1]} ? {element} : 0.0f)"
        return element
