"""The layout of row-major tensors that kernels access element by element."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod

from ..ir import Shape
from ..language.expression import Expression, Operand, Real, expression
from ..language.functions import coordinate, horner, lane
from ..language.primary import Choice
from ..language.statement import Statements, body
from ..language.types import FLOATS, INT
from ..ops.base.storage import bhwc
from .accessor import Accessor, Position, spread, stored_from
from .codecs import ElementCodec


@dataclass(frozen=True)
class Linear(Accessor):
    """A tensor in row-major order."""

    codec: ElementCodec
    shape: Shape
    run: int = 0  # Elements of a run between two gaps; 0 if there are no gaps.
    pitch: int = 0  # Elements from the start of one run to the start of the next.

    repeats = False

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
        return bool(self.run)

    @property
    def broken_rows(self) -> bool:
        """Whether a row has a gap between its first and its last element."""
        return bool(self.run and self.run % (self.width * self.channels))

    def flattened(self) -> Linear:
        batch, height, width, channels = bhwc(self.shape)
        return replace(self, shape=(batch, 1, height * width, channels))

    def in_runs(self, length: int, pitch: int) -> Linear | None:
        return None if length % self.shape[-1] else replace(self, run=length, pitch=pitch)

    def element_index(self, flat: Operand) -> Expression:
        """The index in the array of the element at a flat index of the tensor."""
        index = flat // self.run * self.pitch + flat % self.run if self.run else flat
        return expression(index) + self.base

    def index(self, batch: Operand, row: Operand, column: Operand, channel: Operand) -> Expression:
        batches, *sizes = bhwc(self.shape)
        extents = spread(sizes, self.run, self.pitch) if self.run else sizes
        coordinates = zip((row, column, channel), sizes, strict=True)
        given = (c if size > 1 else 0 for c, size in coordinates)
        if extents is not None:
            return horner((batch, batches), *zip(given, extents, strict=True)) + self.base
        return self.element_index(horner((batch, batches), *zip(given, sizes, strict=True)))

    def index_of(self, position: Position) -> Expression:
        return self.element_index(position.index)

    def at(self, index: Operand) -> Expression:
        """What is stored at an index of the array, which arithmetic takes for an int if narrow."""
        return self.codec.at(self.memory, index)

    def element_at(self, index: Operand) -> Expression:
        return self.codec.load(self.memory, index)

    def set_element(self, index: Operand, value: Operand) -> Statements:
        """The statement that stores an element at an index of the array."""
        return body(self.codec.save(self.memory, index, value))

    def load_slice(self, index: Operand) -> Expression:
        """As many elements as a slice has lanes, from an index of the array on."""
        return self.codec.load_lanes(self.memory, index)

    def slice_from(self, flat: Operand, reach: int = 0) -> Expression:
        """The elements from a flat index of the tensor on, as many as a slice has lanes, of which
        the first `reach` count, or all of them."""
        if not self._apart(reach or self.lanes):
            return self.load_slice(self.element_index(flat))
        each = (self.read(expression(flat) + number) for number in range(self.lanes))
        return self.memory.language.made(FLOATS, self.lanes, *each)

    def store_slice(self, index: Operand, value: Operand) -> Statements:
        """The statement that stores the lanes of a slice from an index of the array on."""
        return body(self.codec.save_lanes(self.memory, index, value))

    def lane(self, batch: Operand, row: Operand, column: Operand, channel: Operand) -> Expression:
        return self.element_at(self.index(batch, row, column, channel))

    def coordinates(self, index: Expression) -> tuple[Expression, ...]:
        """Batch, row, column and channel of the element at a flat index."""
        shape = bhwc(self.shape)
        return tuple(coordinate(index, axis, shape) for axis in range(len(shape)))

    def pixel(self, batch: Operand, row: Operand, column: Operand) -> Expression:
        """The index of a pixel's first channel, which `channel` takes."""
        return self.index(batch, row, column, 0)

    def channel(self, pixel: Operand, slice: Operand, lane: Operand) -> Expression:
        """One lane of a slice of the pixel at that index, as if the tensor were sliced."""
        return self.element_of(pixel, slice * self.lanes + lane)

    @property
    def plane(self) -> int:
        """Array elements from one slice of a pixel to the next, as if the tensor were sliced."""
        return self.lanes

    def slice_of(self, pixel: Operand, slice: Operand) -> Expression:
        """A whole slice of the pixel at that index."""
        return self.load_slice(pixel + expression(slice) * self.plane)

    def word(self, pixel: Operand, slice: Operand, number: Operand) -> Expression:
        """Four bytes of a pixel, at its index, as one integer; 0 beyond the last channel."""
        if self.channels < 4:
            return self.memory.call("part_of_word_at", pixel, self.channels, kind=INT)
        return self.memory.call("word_at", pixel, slice * self.lanes + number * 4, kind=INT)

    def word_near(self, pixel: Operand, further: int) -> Expression:
        """The first four bytes of a pixel that is so many further along x than the one at an index,
        which has others after it."""
        return self.memory.call("word_at", pixel, further * self.channels, kind=INT)

    def element_of(self, start: Operand, offset: Operand) -> Expression:
        """An element by base address and offset, for which CPU compilers generate better code."""
        return self.codec.load_from(self.memory, start, offset)

    def read(self, flat: Operand) -> Expression:
        return self.element_at(self.element_index(flat))

    def assign(self, flat: Operand, value: Operand) -> Statements:
        """The statement that stores an element at a flat index of the tensor."""
        return self.set_element(self.element_index(flat), value)

    def entry(self, index: Operand) -> Expression:
        return self.read(index)

    def _apart(self, count: int) -> bool:
        """Whether so many elements have gaps between, as they reach beyond a shorter row."""
        return bool(self.run) and self.shape[-1] < count

    def write(self, position: Position, value: Expression) -> Statements:
        if self._apart(position.some.stop or position.lanes):
            some = position.some or range(position.lanes)
            indices = (self.element_index(expression(position.index) + number) for number in some)
            each = (lane(value, number, position.lanes) for number in some)
            return body(*map(partial(self.codec.save, self.memory), indices, each))
        if position.some:
            save = partial(self.codec.save_some, self.memory, value=value, lanes=position.some)
            return stored_from(self.index_of(position), lambda to: body(*save(to)))
        if position.lanes:
            return self.store_slice(self.index_of(position), value)
        return self.assign(position.index, value)

    def broadcast(self, position: Position, shape: Shape) -> Expression:
        """The element for a flat index; for a slice as many elements, or one in all lanes."""
        own = (1,) * (len(shape) - len(self.shape)) + self.shape
        terms = list(zip(position.coordinates(shape), own, strict=True))
        if own == tuple(shape):
            index = position.index
        elif position.within is None and _repeats_whole(own, shape):
            index = expression(position.index) % prod(own)
        else:
            index = horner(*terms)
        one_a_row = prod(own) == 1 or (1, *self.shape)[-1] < (1, *shape)[-1]
        if position.lanes and not one_a_row:
            return self.slice_from(index, reach=position.some.stop)
        element = self.read(index)
        if own and 1 < own[-1] < shape[-1]:
            element = Choice(expression(terms[-1][0]) < own[-1], element, Real(0.0))
        return self.memory.splat(element) if position.lanes else element


def _repeats_whole(own: Shape, shape: Shape) -> bool:
    """Whether a tensor is broadcast along leading axes alone, so that it repeats as it lies."""
    leading = next((axis for axis, size in enumerate(own) if size > 1), len(own))
    return own[leading:] == tuple(shape[leading:])
