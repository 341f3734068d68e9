"""The layout of tensors in channel slices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd, prod
from typing import TypeVar

from ..ir import Shape
from ..language.expression import Expression, Number, Operand, Operation, Real, expression
from ..language.functions import horner, select
from ..language.primary import Call, Element
from ..language.statement import Statements, body
from ..language.types import FLOATS, INT, PAIR
from ..ops.base.storage import bhwc
from ..target import Target
from .accessor import Accessor, Position, spread
from .codecs import Codec, SliceCodec
from .memory import Buffer, Image

Layout = TypeVar("Layout", bound="Slices")  # A layout that is accessed slice by slice.


@dataclass(frozen=True)
class Slices(Accessor):
    """A tensor that kernels access slice by slice, whatever the order of its axes."""

    batches: int
    height: int
    width: int
    channels: int
    # Sizes of the axes in `nested` that give the strides, if there are gaps; else ().
    extents: tuple[int, ...] = ()

    @classmethod
    def of(cls: type[Layout], memory: Buffer, codec: Codec, shape: Shape) -> Layout:
        return cls(memory, codec, *bhwc(shape))

    @property
    def nested(self) -> tuple[int, ...]:
        """Sizes of the axes within a batch, outermost first."""
        raise NotImplementedError

    @property
    def slices(self) -> int:
        return -(-self.channels // self.lanes)

    @property
    def tail(self) -> int:
        """Lanes used in the last slice; 0 if all are."""
        return self.channels % self.lanes

    @property
    def gaps(self) -> bool:
        return bool(self.extents)

    def flattened(self: Layout) -> Layout:
        return replace(self, height=1, width=self.height * self.width)

    def in_runs(self: Layout, length: int, pitch: int) -> Layout | None:
        extents = spread(self.nested, length, pitch)
        return None if extents is None else replace(self, extents=extents)

    def nest(self, batch: Operand, *coordinates: Operand) -> Expression:
        """The index in the array, from the batch and coordinates in `nested`."""
        # Along an axis of size 1 the coordinate is always 0.
        given = (c if size > 1 else 0 for c, size in zip(coordinates, self.nested, strict=True))
        inner = zip(given, self.extents or self.nested, strict=True)
        return horner((batch if self.batches > 1 else 0, self.batches), *inner) + self.base

    def is_last(self, slice: Operand) -> bool:
        """Whether `slice` is the last slice for every work-item."""
        return self.slices == 1 or expression(slice).value == self.slices - 1

    def may_be_last(self, slice: Operand) -> bool:
        """Whether `slice` is the last slice for some work-item."""
        return expression(slice).value in (None, self.slices - 1)


@dataclass(frozen=True)
class Sliced(Slices):
    """A tensor in channel slices, [batch][slice][height][width], each an element of the array."""

    codec: SliceCodec

    row_major = False

    @property
    def nested(self) -> tuple[int, ...]:
        return self.slices, self.height, self.width

    @property
    def repeats(self) -> bool:
        return self.codec.repeats or bool(self.tail)

    @property
    def pairs(self) -> bool:  # type: ignore[override]
        return self.codec.pairs

    @property
    def repeats_index(self) -> bool:  # type: ignore[override]
        return self.codec.repeats_index

    @property
    def plane(self) -> int:
        """Array elements from one slice of a pixel to the next."""
        return prod(self.extents[1:]) if self.extents else self.height * self.width

    def in_image(self, texel: int) -> Sliced:
        memory = Image(self.array, self.memory.language, self.lanes, self.memory.used, texel)
        codec = self.codec.in_image
        return replace(self, memory=memory, codec=codec) if codec else self

    def widened(self) -> Sliced:
        return replace(self, codec=self.codec.widened)

    def joined(self, pixels: int, writes: bool, target: Target) -> Sliced:
        row = (self.extents or self.nested)[-1]
        whole = gcd(pixels, self.base, row)
        if writes:
            fitting = (join for join in self.codec.joins(target) if whole % join.together == 0)
            return replace(self, join=next(fitting, None))
        pairs = self.codec.paired(target.language)
        return self if pairs is None or whole % 2 else replace(self, codec=pairs)

    def index(self, batch: Operand, row: Operand, column: Operand, slice: Operand) -> Expression:
        return self.nest(batch, slice, row, column)

    def index_of(self, position: Position) -> Expression:
        return self.index(position.batch, position.row, position.column, position.slice)

    def read(self, batch: Operand, row: Operand, column: Operand, slice: Operand) -> Expression:
        return self.slice_at(self.index(batch, row, column, slice))

    def slice_at(self, index: Operand) -> Expression:
        return self.codec.load(self.memory, index)

    def lane_at(self, index: Operand, lane: Operand) -> Expression:
        return self.codec.lane(self.memory, index, lane)

    def assign(self, index: Operand, value: Operand) -> Statements:
        return body(self.codec.save(self.memory, index, value))

    def lane(self, batch: Operand, row: Operand, column: Operand, channel: Operand) -> Expression:
        if self.slices == 1:
            return self.lane_at(self.index(batch, row, column, 0), channel)
        slice, lane = channel // self.lanes, channel % self.lanes
        return self.lane_at(self.index(batch, row, column, slice), lane)

    def pixel(self, batch: Operand, row: Operand, column: Operand) -> Expression:
        """The index of a pixel's first slice, which the functions below take."""
        return self.index(batch, row, column, 0)

    def channel(self, pixel: Operand, slice: Operand, lane: Operand) -> Expression:
        """One lane of a slice of the pixel at that index."""
        return self.lane_at(self._further(pixel, slice), lane)

    def slice_of(self, pixel: Operand, slice: Operand) -> Expression:
        return self.slice_at(self._further(pixel, slice))

    def word(self, pixel: Operand, slice: Operand, number: Operand) -> Expression:
        """Four lanes of a slice of the pixel at that index as one integer, if they are bytes."""
        return self.memory.call("bytes_at", self._further(pixel, slice), number, kind=INT)

    def _further(self, pixel: Operand, slice: Operand) -> Expression:
        offset = horner((slice, self.slices), (0, self.plane))
        return offset + pixel if isinstance(pixel, int) else pixel + offset

    def pair_at(self, start: Expression, number: Operand = 0) -> Expression:
        """A pair of slices, by the index of an even slice and the number of pairs after it."""
        return Element(self.memory.variable, Operation(">>", start, Number(1)) + number, PAIR)

    def pair_of(self, pixel: Operand, slice: Operand) -> Expression:
        """A slice of two neighbouring pixels, by the index of the first one, which is even."""
        return self.pair_at(self._further(pixel, slice))

    def unpacked(self, pair: Operand, number: int) -> Expression:
        """The first or the second slice of a pair."""
        return self.codec.unpacked(self.memory, pair, number)

    def entry(self, index: Operand) -> Expression:
        return self.codec.number(self.memory, index, self.base)

    def entries(self, indices: Expression) -> Expression:
        found = self.codec.numbers(self.memory, indices, self.base)
        return super().entries(indices) if found is None else found

    def broadcast(self, position: Position, shape: Shape) -> Expression:
        channels = bhwc(shape)[3]
        if self.channels == 1 and channels > 1:
            lane = self.lane(position.batch, position.row, position.column, 0)
            return self.memory.splat(lane)
        element = self.slice_at(self.index_of(position))
        if self.channels == 1 or self.slices * self.lanes >= channels:
            return element
        inside = expression(position.slice) < self.slices
        return select(inside, element, self.memory.splat(Real(0.0)))

    def write(self, position: Position, value: Expression) -> Statements:
        return self.assign(self.index_of(position), self.keep_tail(position, value))

    def keep_tail(self, position: Position, value: Expression) -> Expression:
        if not self.tail or not self.may_be_last(position.slice):
            return value
        kept = Call(self.memory.called("keep_lanes"), value, self.tail, type=FLOATS)
        if self.is_last(position.slice):
            return kept
        return select(expression(position.slice).equals(self.slices - 1), kept, value)
