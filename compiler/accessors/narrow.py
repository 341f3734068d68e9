"""The accessors of tensors whose elements in memory are narrower than those in kernels."""

from __future__ import annotations

from dataclasses import dataclass

from ..language import affine, quotient, remainder
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

    def slice_at(self, index: str) -> str:
        return self.call("load_half", self.array, index)

    def lane_at(self, index: str, lane: str) -> str:
        return self.call("half_lane", self.array, index, lane)

    def assign(self, index: str, value: str) -> str:
        return self.call("store_half", self.array, index, value) + ";"

    def entry(self, index: str) -> str:
        place = affine(quotient(index, self.lanes), 1, self.base)
        return self.lane_at(place, remainder(index, self.lanes))


@dataclass(frozen=True)
class HalvesAccessor(HalfAccessor):
    """The same in kernels that compute in half precision, whose arrays have slices of halves.

    In languages without such arrays, slices are unpacked into variables of half precision.
    """

    widens: bool = False
    """Whether what is read becomes floats, with which epilogues compute."""

    stored = "halves"

    def slice_at(self, index: str) -> str:
        if not self.language.half_arrays:
            return self.call("load_half" if self.widens else "load_medium", self.array, index)
        halves = f"{self.array}[{index}]"
        return self.language.widen(halves, self.lanes) if self.widens else halves

    def lane_at(self, index: str, lane: str) -> str:
        if not self.language.half_arrays:
            return super().lane_at(index, lane)
        return self.call("lane_of_halves", self.array, index, lane)

    def assign(self, index: str, value: str) -> str:
        if not self.language.half_arrays:
            return super().assign(index, value)
        return f"{self.array}[{index}] = {self.language.narrow(value, self.lanes)};"


@dataclass(frozen=True)
class HalvesImageAccessor(ImageAccessor):
    """The same for an image of a buffer."""

    widens: bool = False
    """Whether what is read becomes floats, with which epilogues compute."""

    def slice_at(self, index: str) -> str:
        intrinsic = "read_texel" if self.widens else "read_half_texel"
        return self.call(intrinsic, self.array, index)

    def lane_at(self, index: str, lane: str) -> str:
        value = super().lane_at(index, lane)
        return value if self.widens else self.language.convert(self.language.half, value)


@dataclass(frozen=True)
class PairsAccessor(HalvesAccessor):
    """The same for an array whose elements are two slices; indices still count slices."""

    single: bool = False
    """Whether the kernel computes in single precision, so that it may not name halves."""

    stored = "pairs"
    pairs = True
    together = 2

    def slice_at(self, index: str) -> str:
        return self.unpacked(self.call("words_at", self.array, index))

    def unpacked(self, words: str) -> str:
        """The slice of which two integers hold two halves each."""
        if self.single:
            return self.call("from_halves", words)
        halves = self.call("halves_of", words)
        return self.language.widen(halves, self.lanes) if self.widens else halves

    def lane_at(self, index: str, lane: str) -> str:
        return f"{self.slice_at(index)}[{lane}]"

    def pair_at(self, start: str, number: str = "0") -> str:
        """A pair of slices, by the index of an even slice and the number of pairs after it."""
        index = f"({start}) >> 1" if number == "0" else affine(f"({start} >> 1)", 1, number)
        return f"{self.array}[{index}]"

    def pair_of(self, pixel: str, slice: str) -> str:
        """A slice of two neighbouring pixels, by the index of the first one, which is even."""
        return self.pair_at(self._further(pixel, slice))


@dataclass(frozen=True)
class JoinedHalvesAccessor(HalfAccessor):
    """Slices in half precision that a kernel writes two pixels at a time, as a pair."""

    stored = "pairs"
    together = 2

    def part(self, number: int, value: str) -> str:
        """The statement that makes a slice of floats a part of `joined`."""
        pair = "joined"
        if self.together > 2:
            self.used.add(self.stored)
            pair = f"joined.pair[{number // 2}]"
        return f"{pair}.{('xy', 'zw')[number % 2]} = {self.call('half_words', value)};"

    def assign_joined(self, first: str) -> str:
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

    def at(self, place: str) -> str:
        self.used.add("half_at")
        return f"half_at({self.array}, {place})"

    def element_of(self, start: str, offset: str) -> str:
        return self.at(affine(start, 1, offset))


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

    def slice_at(self, index: str) -> str:
        return self.call(self.load, self.array, index, f"{self.least}.0f")

    def lane_at(self, index: str, lane: str) -> str:
        return self.call(self.load_lane, self.array, index, lane, f"{self.least}.0f")

    def assign(self, index: str, value: str) -> str:
        return self.call(self.save, self.array, index, value, f"{self.least}.0f") + ";"

    def entry(self, index: str) -> str:
        place = affine(quotient(index, self.lanes), 1, self.base)
        return self.lane_at(place, remainder(index, self.lanes))


@dataclass(frozen=True)
class ByteAccessor(WholeAccessor):
    """Integers of 8 bits; in GLSL a slice is an unsigned integer with lane 0 in its lowest bits."""

    stored = "byte"
    load, load_lane, save = "load_bytes", "byte_lane", "store_bytes"
    with_sign = False

    def word(self, pixel: str, slice: str, number: str) -> str:
        """Four lanes of a slice of the pixel at that index, as one integer."""
        return self.call("bytes_at", self.array, self._further(pixel, slice), number)


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
    """The same for a slice that begins with a word."""


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

    def at(self, place: str) -> str:
        return self.call(_PACKED[self.narrow].read, self.array, place)

    def set(self, place: str, value: str) -> str:
        return self.call(_PACKED[self.narrow].store, self.array, place, value) + ";"

    def load_slice(self, place: str) -> str:
        lanes = (self.element_at(affine(place, 1, number)) for number in range(self.lanes))
        return f"vec{self.lanes}({', '.join(lanes)})"

    def store_slice(self, place: str, value: str) -> str:
        integers = self.call("whole_numbers", value, str(self.zero_point))
        return self.call(_PACKED[self.narrow].store_slice, self.array, place, integers) + ";"

    def element_of(self, start: str, offset: str) -> str:
        return self.element_at(affine(start, 1, offset))

    def _as_element(self, stored: str) -> str:
        return stored if self.element == "int" else self._less_zero(f"float({stored})")


@dataclass(frozen=True)
class PackedRowsAccessor(RowsAccessor):
    """The same, written slice by slice: whole words where every slice begins with one."""

    def set(self, place: str, value: str) -> str:
        return self.call(_PACKED[self.narrow].store, self.array, place, value) + ";"

    def set_lanes(self, place: str, value: str) -> str:
        pitch = (self.extents or self.nested)[-1]
        aligned = self.base % self.lanes == 0 and pitch % self.lanes == 0
        packed = _PACKED[self.narrow]
        return self.call(
            packed.store_words if aligned else packed.store_slice, self.array, place, value
        )

    def as_stored(self, lanes: str) -> str:
        return self.call("whole_numbers", lanes, str(self.zero_point))
