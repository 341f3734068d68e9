"""Slices, and rows, of half precision."""

from collections.abc import Sequence
from dataclasses import dataclass

from ...language.expression import Expression, Name, Operand, expression
from ...language.language import Language
from ...language.primary import Call, Element, Member
from ...language.statement import Assign, Statement
from ...language.types import FLOAT, FLOATS, HALF, HALVES, INT, LANE, PAIR
from ...target import Target
from ..memory import Buffer
from .codec import ElementCodec, Join, SliceCodec
from .floats import Floats


@dataclass(frozen=True)
class Half(SliceCodec):
    """Slices of half precision, of which kernels make floats.

    OpenCL's vload_half and GLSL's packHalf2x16 are core features, so every device has them.
    """

    stored = "half"
    repeats = True

    @property
    def in_image(self) -> SliceCodec:
        return Floats()

    def load(self, memory: Buffer, index: Operand) -> Expression:
        return memory.call("load_half", index, kind=FLOATS)

    def lane(self, memory: Buffer, index: Operand, lane: Operand) -> Expression:
        return memory.call("half_lane", index, lane)

    def save(self, memory: Buffer, index: Operand, value: Operand) -> Statement:
        return memory.do("store_half", index, value)

    def joins(self, target: Target) -> Sequence[Join]:
        if "pairs" not in target.language.elements:
            return ()
        return tuple(map(Pairs, (8, 4, 2) if target.joined_stores else (2,)))


@dataclass(frozen=True)
class Halves(Half):
    """Slices of halves, in kernels that compute in half precision.

    In languages without arrays of them, slices are unpacked into variables of half precision.
    """

    widens: bool = False  # Whether what is read becomes floats.

    stored = "halves"

    @property
    def in_image(self) -> SliceCodec:
        return Floats() if self.widens else HalvesOfImage()

    @property
    def widened(self) -> SliceCodec:
        return type(self)(widens=True)

    def load(self, memory: Buffer, index: Operand) -> Expression:
        if memory.language.half_arrays:
            return self._computed(memory, memory.element(index, HALVES))
        if self.widens:
            return super().load(memory, index)
        return memory.call("load_medium", index, kind=HALVES)

    def _computed(self, memory: Buffer, halves: Expression) -> Expression:
        """A slice of halves as one with which the kernel computes."""
        if not self.widens:
            return halves
        return memory.language.widen(halves, memory.lanes)

    def lane(self, memory: Buffer, index: Operand, lane: Operand) -> Expression:
        if memory.language.half_arrays:
            return memory.lane(index, lane, HALF)
        kind = FLOAT if self.widens else HALF
        return memory.call("half_lane", index, lane, kind=kind)

    def save(self, memory: Buffer, index: Operand, value: Operand) -> Statement:
        if memory.language.half_arrays:
            return memory.set(index, memory.language.narrow(expression(value), memory.lanes))
        return super().save(memory, index, value)

    def paired(self, language: Language) -> SliceCodec | None:
        return PairedHalves(self.widens) if "pairs" in language.elements else None


@dataclass(frozen=True)
class HalvesOfImage(Floats):
    """Slices of halves that are texels of an image, in kernels that compute in half precision."""

    @property
    def widened(self) -> SliceCodec:
        return Floats()

    def load(self, memory: Buffer, index: Operand) -> Expression:
        return memory.call("read_half_texel", index, kind=HALVES)

    def lane(self, memory: Buffer, index: Operand, lane: Operand) -> Expression:
        value = super().lane(memory, index, lane)
        return memory.language.made(HALF, memory.lanes, value)


@dataclass(frozen=True)
class PairedHalves(Halves):
    """Slices of halves in an array of pairs of them, each as two integers."""

    # Whether the kernel computes in single precision, so that it may not name halves.
    single: bool = False

    stored = "pairs"
    pairs = True

    @property
    def widened(self) -> SliceCodec:
        return PairedHalves(True, self.single)

    def load(self, memory: Buffer, index: Operand) -> Expression:
        return self._slice(memory, memory.call("words_at", index))

    def unpacked(self, memory: Buffer, pair: Operand, number: int) -> Expression:
        return self._slice(memory, Member(expression(pair), ("xy", "zw")[number], INT))

    def _slice(self, memory: Buffer, words: Expression) -> Expression:
        """The slice of which two integers hold two halves each."""
        intrinsic = memory.called("from_halves" if self.single else "halves_of")
        halves = Call(intrinsic, words, type=FLOATS if self.single else HALVES)
        return halves if self.single else self._computed(memory, halves)

    def lane(self, memory: Buffer, index: Operand, lane: Operand) -> Expression:
        slice = self.load(memory, index)
        return Element(slice, lane, LANE[slice.type])


@dataclass(frozen=True)
class Pairs:
    """Slices that become halves as they are stored: one pair, or two or four of them."""

    together: int

    @property
    def stored(self) -> str:
        return {2: "pairs", 4: "pairs2", 8: "pairs4"}[self.together]

    def part(self, memory: Buffer, number: int, value: Expression) -> Statement:
        pair: Expression = Name("joined")
        if self.together > 2:
            memory.used.add(self.stored)
            pair = Element(Member(pair, "pair", PAIR), number // 2)
        words = Member(pair, ("xy", "zw")[number % 2], INT)
        return Assign(words, "=", Call(memory.called("half_words"), value))


@dataclass(frozen=True)
class HalfNumbers(ElementCodec):
    """Rows in half precision, of which kernels make floats.

    GLSL has no arrays of halves; there two share an unsigned integer.
    """

    stored = "half_rows"

    def at(self, memory: Buffer, index: Operand) -> Expression:
        return memory.call("half_at", index)

    def load_from(self, memory: Buffer, start: Operand, offset: Operand) -> Expression:
        return self.at(memory, start + offset)

    def load_lanes(self, memory: Buffer, index: Operand) -> Expression:
        each = (self.at(memory, expression(index) + number) for number in range(memory.lanes))
        return memory.language.made(FLOATS, memory.lanes, *each)
