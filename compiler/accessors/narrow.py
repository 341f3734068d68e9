"""The accessors of tensors in channel slices whose lanes are narrower than the kernels' floats."""

from __future__ import annotations

from dataclasses import dataclass

from ..language import affine, quotient, remainder
from .sliced import SlicedAccessor


@dataclass(frozen=True)
class HalfAccessor(SlicedAccessor):
    """Slices of half precision; kernels still compute in single precision.

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
class ByteAccessor(SlicedAccessor):
    """A tensor of whole numbers in channel slices of bytes, each the number less the least one.

    Kernels compute with the numbers as floats. Lanes past the last channel are bytes that stand
    for 0. GLSL has no bytes; there a slice is an unsigned integer with lane 0 in its lowest bits.
    """

    least: int = 0
    """The number that a byte of 0 stands for."""

    stored = "byte"

    @property
    def repeats(self) -> bool:
        return True

    def slice_at(self, index: str) -> str:
        return self.call("load_bytes", self.array, index, f"{self.least}.0f")

    def lane_at(self, index: str, lane: str) -> str:
        return self.call("byte_lane", self.array, index, lane, f"{self.least}.0f")

    def assign(self, index: str, value: str) -> str:
        return self.call("store_bytes", self.array, index, value, f"{self.least}.0f") + ";"

    def word(self, pixel: str, slice: str, number: str) -> str:
        """Four lanes of a slice of the pixel at that index, as one integer."""
        return self.call("bytes_at", self.array, self._further(pixel, slice), number)

    def entry(self, index: str) -> str:
        place = affine(quotient(index, self.lanes), 1, self.base)
        return self.lane_at(place, remainder(index, self.lanes))
