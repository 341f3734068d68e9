"""The accessors of tensors whose elements in memory are narrower than those in kernels."""

from __future__ import annotations

from dataclasses import dataclass

from ..language import FLOAT, INT, Call, Element, Expression, Name, Number, Operand, Operation
from .linear import LinearAccessor
from .sliced import ImageAccessor, RowsAccessor, SlicedAccessor


@dataclass(frozen=True)
class HalfAccessor(SlicedAccessor):
    """Slices of half precision, of which kernels make floats.

    OpenCL's vload_half and GLSL's packHalf2x16 are core features, so every device has them.
    """

    stored = "half"

    @property
    def repeats(self) -> bool:
        return True

    def slice_at(self, index: Operand) -> Expression:
        return self.call("load_half", index)

    def lane_at(self, index: Operand, lane: Operand) -> Expression:
        return self.call("half_lane", index, lane)

    def assign(self, index: Operand, value: object) -> str:
        return f"{self.called('store_half')}({self.array}, {index}, {value});"

    def entry(self, index: Operand) -> Expression:
        place = index // self.lanes + self.base
        return self.lane_at(place, index % self.lanes)


@dataclass(frozen=True)
class HalvesAccessor(HalfAccessor):
    """An array of slices of halves, in kernels that compute in half precision.

    In languages without such arrays, slices are unpacked into variables of half precision.
    """

    widens: bool = False
    """Whether what is read becomes floats, with which epilogues compute."""

    stored = "halves"

    def slice_at(self, index: Operand) -> Expression:
        if not self.language.half_arrays:
            return self.call("load_half" if self.widens else "load_medium", index)
        return self._widened(Element(self.array, index, FLOAT))

    def _widened(self, halves: Expression) -> Expression:
        """A slice of halves as one with which the kernel computes."""
        if not self.widens:
            return halves
        return Name(self.language.widen(str(halves), self.lanes), FLOAT)

    def lane_at(self, index: Operand, lane: Operand) -> Expression:
        if not self.language.half_arrays:
            return super().lane_at(index, lane)
        return self.call("lane_of_halves", index, lane)

    def assign(self, index: Operand, value: object) -> str:
        if not self.language.half_arrays:
            return super().assign(index, value)
        return f"{self.array}[{index}] = {self.language.narrow(str(value), self.lanes)};"


@dataclass(frozen=True)
class HalvesImageAccessor(ImageAccessor):
    """An image whose texels are slices of halves, in kernels that compute in half precision."""

    widens: bool = False
    """Whether what is read becomes floats, with which epilogues compute."""

    def slice_at(self, index: Operand) -> Expression:
        intrinsic = "read_texel" if self.widens else "read_half_texel"
        return self.call(intrinsic, index)

    def lane_at(self, index: Operand, lane: Operand) -> Expression:
        value = super().lane_at(index, lane)
        if self.widens:
            return value
        return Name(self.language.convert(self.language.half, str(value)), FLOAT)


@dataclass(frozen=True)
class PairsAccessor(HalvesAccessor):
    """An array whose elements are two slices of halves each; indices still count slices."""

    single: bool = False
    """Whether the kernel computes in single precision, so that it may not name halves."""

    stored = "pairs"
    pairs = True
    together = 2

    def slice_at(self, index: Operand) -> Expression:
        return self.unpacked(self.call("words_at", index))

    def unpacked(self, words: object) -> Expression:
        """The slice of which two integers hold two halves each."""
        intrinsic = self.called("from_halves" if self.single else "halves_of")
        halves = Name(f"{intrinsic}({words})", FLOAT)
        return halves if self.single else self._widened(halves)

    def lane_at(self, index: Operand, lane: Operand) -> Expression:
        return Name(f"{self.slice_at(index)}[{lane}]", FLOAT)

    def pair_at(self, start: Expression, number: Operand = 0) -> Expression:
        """A pair of slices, by the index of an even slice and the number of pairs after it."""
        return Element(self.array, Operation(">>", start, Number(1)) + number, INT)

    def pair_of(self, pixel: Operand, slice: Operand) -> Expression:
        """A slice of two neighbouring pixels, by the index of the first one, which is even."""
        return self.pair_at(self._further(pixel, slice))


@dataclass(frozen=True)
class JoinedHalvesAccessor(HalfAccessor):
    """Slices in half precision that a kernel writes two pixels at a time, as a pair."""

    stored = "pairs"
    together = 2

    def part(self, number: int, value: object) -> str:
        """The statement that makes a slice of floats a part of `joined`."""
        pair = "joined"
        if self.together > 2:
            self.used.add(self.stored)
            pair = f"joined.pair[{number // 2}]"
        return f"{pair}.{('xy', 'zw')[number % 2]} = {self.called('half_words')}({value});"

    def assign_joined(self, first: Expression) -> str:
        """The statement that stores `joined`, by the index of its first slice."""
        return f"{self.array}[({first}) >> {self.together.bit_length() - 1}] = joined;"


@dataclass(frozen=True)
class FourHalvesAccessor(JoinedHalvesAccessor):
    """The same, four pixels at a time."""

    stored = "pairs2"
    together = 4


@dataclass(frozen=True)
class EightHalvesAccessor(JoinedHalvesAccessor):
    """The same, eight pixels at a time."""

    stored = "pairs4"
    together = 8


@dataclass(frozen=True)
class HalfRowsAccessor(LinearAccessor):
    """A constant in row-major order and half precision, of which kernels make floats.

    GLSL has no arrays of halves; there two share an unsigned integer.
    """

    stored = "half_rows"

    def at(self, place: Operand) -> Expression:
        return self.call("half_at", place)

    def element_of(self, start: Operand, offset: Operand) -> Expression:
        return self.at(start + offset)


@dataclass(frozen=True)
class WholeAccessor(SlicedAccessor):
    """A tensor of whole numbers in channel slices of integers, each the number less the least one.

    Kernels compute with the numbers as floats. Lanes past the last channel are integers that stand
    for 0.
    """

    least: int = 0
    """The number that a stored 0 stands for."""

    load = load_lane = save = ""
    """The intrinsics that read a slice, read a lane, and store a slice."""

    @property
    def repeats(self) -> bool:
        return True

    @property
    def _least(self) -> Expression:
        return Name(f"{self.least}.0f", FLOAT)

    def slice_at(self, index: Operand) -> Expression:
        return self.call(self.load, index, self._least)

    def lane_at(self, index: Operand, lane: Operand) -> Expression:
        return self.call(self.load_lane, index, lane, self._least)

    def assign(self, index: Operand, value: object) -> str:
        return f"{self.called(self.save)}({self.array}, {index}, {value}, {self._least});"

    def entry(self, index: Operand) -> Expression:
        place = index // self.lanes + self.base
        return self.lane_at(place, index % self.lanes)


@dataclass(frozen=True)
class ByteAccessor(WholeAccessor):
    """Integers of 8 bits; in GLSL a slice is an unsigned integer with lane 0 in its lowest bits."""

    stored = "byte"
    load, load_lane, save = "load_bytes", "byte_lane", "store_bytes"
    with_sign = False

    def word(self, pixel: Operand, slice: Operand, number: Operand) -> Expression:
        """Four lanes of a slice of the pixel at that index, as one integer."""
        return self.call("bytes_at", self._further(pixel, slice), number, kind=INT)


@dataclass(frozen=True)
class ShortAccessor(WholeAccessor):
    """Integers of 16 bits; in GLSL a slice is two unsigned integers with two lanes each."""

    stored = "short"
    load, load_lane, save = "load_shorts", "short_lane", "store_shorts"


@dataclass(frozen=True)
class _Packed:
    """The intrinsics for integers of a type that share words, in a language without arrays of them.

    One of them is stored by an atomic operation, as other work-items may store the rest of its
    word.
    """

    read: str
    store: str
    store_slice: str
    store_words: str
    """Stores a slice that begins with a word."""


_PACKED = {
    "int8": _Packed("int8_at", "set_byte", "set_bytes", "store_word"),
    "uint8": _Packed("uint8_at", "set_byte", "set_bytes", "store_word"),
    "uint16": _Packed("uint16_at", "set_short", "set_shorts", "store_two_words"),
}


@dataclass(frozen=True)
class PackedAccessor(LinearAccessor):
    """A row-major tensor of narrow integers that share the words of an array.

    Indices count integers.
    """

    def at(self, place: Operand) -> Expression:
        return self.call(_PACKED[self.narrow].read, place, kind=INT)

    def set(self, place: Operand, value: object) -> str:
        return f"{self.called(_PACKED[self.narrow].store)}({self.array}, {place}, {value});"

    def load_slice(self, place: Operand) -> Expression:
        lanes = (self.element_at(place + number) for number in range(self.lanes))
        return Call(f"vec{self.lanes}", *lanes, type=FLOAT)

    def store_slice(self, place: Operand, value: object) -> str:
        integers = f"{self.called('whole_numbers')}({value}, {self.zero_point})"
        store = self.called(_PACKED[self.narrow].store_slice)
        return f"{store}({self.array}, {place}, {integers});"

    def element_of(self, start: Operand, offset: Operand) -> Expression:
        return self.element_at(start + offset)

    def _as_element(self, stored: Expression) -> Expression:
        return stored if self.element == INT else self._less_zero(Name(f"float({stored})", FLOAT))


@dataclass(frozen=True)
class PackedRowsAccessor(RowsAccessor):
    """The same, written slice by slice: whole words where every slice begins with one."""

    def set(self, place: Operand, value: object) -> str:
        return f"{self.called(_PACKED[self.narrow].store)}({self.array}, {place}, {value});"

    def set_lanes(self, place: Operand, value: object) -> str:
        pitch = (self.extents or self.nested)[-1]
        aligned = self.base % self.lanes == 0 and pitch % self.lanes == 0
        packed = _PACKED[self.narrow]
        store = self.called(packed.store_words if aligned else packed.store_slice)
        return f"{store}({self.array}, {place}, {value})"

    def as_stored(self, lanes: object) -> str:
        return f"{self.called('whole_numbers')}({lanes}, {self.zero_point})"
