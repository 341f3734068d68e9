"""What a codec is: how values lie in the elements of an array."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from ...language.expression import Expression, Operand, Operation, Real, expression
from ...language.functions import lane, part
from ...language.language import Language
from ...language.primary import Call, Cast
from ...language.statement import Evaluate, Statement
from ...language.types import FLOAT, FLOATS
from ...target import Target
from ..memory import Buffer


class Codec:
    """How values lie in memory."""

    stored: str  # The kind of the array's elements, as `Language.element` takes it.
    element: str = FLOAT  # The type of a value in the kernel: float or int.
    with_sign = False  # Whether values are bytes that have a sign.
    repeats = False  # Whether the store contains the value's expression more than once.
    # Whether loading a slice contains the index more than once, which then must not change it.
    repeats_index = False

    @property
    def in_image(self) -> SliceCodec | None:
        """The codec of the same values in an image; None if images cannot hold them."""
        return None


class SliceCodec(Codec, ABC):
    """How slices lie in an array."""

    # Whether an element of the array is two slices; indices count slices nevertheless.
    pairs = False

    @abstractmethod
    def load(self, memory: Buffer, index: Operand) -> Expression:
        """The slice at an index."""

    @abstractmethod
    def lane(self, memory: Buffer, index: Operand, lane: Operand) -> Expression:
        """One lane of the slice at an index."""

    @abstractmethod
    def save(self, memory: Buffer, index: Operand, value: Operand) -> Statement:
        """The statement that stores a slice at an index."""

    def number(self, memory: Buffer, index: Operand, base: int) -> Expression:
        """A lane by its number, counted from the slice at `base` on."""
        return self.lane(memory, index // memory.lanes + base, index % memory.lanes)

    def numbers(self, memory: Buffer, indices: Operand, base: int) -> Expression | None:
        """The lanes by as many numbers, counted so; None if they are read one by one."""
        return None

    @property
    def widened(self) -> SliceCodec:
        """The codec for epilogues, which compute with floats."""
        return self

    def paired(self, language: Language) -> SliceCodec | None:
        """The codec that loads two neighbouring slices at once; None if none is faster."""
        return None

    def joins(self, target: Target) -> Sequence[Join]:
        """The ways to store several neighbouring slices at once, those of the most first."""
        return ()

    def unpacked(self, memory: Buffer, pair: Operand, number: int) -> Expression:
        """The first or the second slice of an element, where elements are pairs."""
        raise TypeError(f"elements of {memory.name} are not pairs")


class Join(Protocol):
    """Several neighbouring slices that a kernel stores at once, from the variable `joined`."""

    @property
    def stored(self) -> str:
        """The kind of the array's elements, and of `joined`."""

    @property
    def together(self) -> int:
        """How many slices they are."""

    def part(self, memory: Buffer, number: int, value: Expression) -> Statement:
        """The statement that makes a slice of floats a part of `joined`."""


class ElementCodec(Codec, ABC):
    """How single values lie in a row-major array."""

    # What is added to floats to store them as integers; None to store values as they are.
    zero_point: int | None = None
    # Whether several values share an element of the array; indices count values nevertheless.
    packed = False

    @abstractmethod
    def at(self, memory: Buffer, index: Operand) -> Expression:
        """What is stored at an index, which arithmetic takes for an int if it is a narrow one."""

    @abstractmethod
    def load_from(self, memory: Buffer, start: Operand, offset: Operand) -> Expression:
        """The value by base address and offset, for which compilers generate better code."""

    def put(self, memory: Buffer, index: Operand, value: Operand) -> Statement:
        """The statement that stores, at an index, a value that is as it is to be stored."""
        return memory.set(index, value)

    def load(self, memory: Buffer, index: Operand) -> Expression:
        return self._value(self.at(memory, index))

    def save(self, memory: Buffer, index: Operand, value: Operand) -> Statement:
        return self.put(memory, index, self._integers(memory, "whole_number", value))

    def load_lanes(self, memory: Buffer, index: Operand) -> Expression:
        """As many values as a slice has lanes, as floats, from an index on."""
        if self.stored == FLOAT:
            return memory.call("lanes_at", index, kind=FLOATS)
        return self._less_zero(memory.call("load_integers", index, kind=FLOATS))

    def save_lanes(
        self, memory: Buffer, index: Operand, value: Operand, aligned: bool = False
    ) -> Statement:
        """Store a slice's lanes from an index on, which is `aligned` if a multiple of the lanes."""
        value = self._integers(memory, self._whole_numbers, value)
        return memory.do("set_lanes_at" if self.stored == FLOAT else "store_lanes", index, value)

    def save_some(
        self, memory: Buffer, start: Expression, value: Expression, lanes: range
    ) -> list[Statement]:
        """The statements that store some lanes of a slice whose first one is stored at `start`."""
        count = memory.lanes
        if not memory.language.vector_stores or self.stored != FLOAT:
            return [
                self.save(memory, start + number, lane(value, number, count)) for number in lanes
            ]
        saved: list[Statement] = []
        first = lanes.start
        while first < lanes.stop:
            size = next(size for size in (8, 4, 3, 2, 1) if first + size <= lanes.stop)
            some, index = part(value, first, size, count), start + first
            vector = Evaluate(Call(f"vstore{size}", some, 0, memory.variable + index))
            saved.append(vector if size > 1 else self.save(memory, index, some))
            first += size
        return saved

    # The intrinsic that makes the integers that are stored of a slice of floats.
    _whole_numbers = "whole_numbers"

    def _value(self, stored: Expression) -> Expression:
        return self._less_zero(stored)

    def _less_zero(self, stored: Expression) -> Expression:
        """The floats that integers stand for which are stored plus a zero point."""
        if not self.zero_point:
            return stored
        sign = "-" if self.zero_point > 0 else "+"
        return Operation(sign, stored, Real(abs(self.zero_point)))

    def _integers(self, memory: Buffer, intrinsic: str, value: Operand) -> Expression:
        """The integers that are stored for floats; what is stored as it is stays."""
        known = expression(value)
        if self.zero_point is None:
            return known
        if known.whole is not None:
            integer = known.whole + self.zero_point
            return integer.parts[1] if isinstance(integer, Cast) else integer
        return Call(memory.called(intrinsic), known, self.zero_point)
