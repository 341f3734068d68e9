"""The constants of a kernel, which lie in one array: what follows what, and how it is stored."""

from dataclasses import dataclass, field

import numpy as np

from ..accessors import Accessor, Buffer, Linear, Sliced
from ..accessors.codecs import HalfNumbers, Numbers, PairedHalves, slice_codec
from ..ir import Shape
from ..ops.base.launch import Constant
from ..ops.base.storage import FLOAT_LANE, HALF_LANE
from ..target import Target

CONSTANTS = "constants"  # What kernels call the array.


@dataclass
class Constants:
    target: Target
    sliced: bool  # Whether the kernel computes slice by slice.
    halved: bool  # Whether they are stored in half precision.
    half: bool  # Whether the kernel multiplies and adds in half precision.
    in_pairs: bool  # Whether the kernel can read two slices at a time.
    used: set[str]  # The intrinsics that the kernel calls.
    arrays: list[Constant] = field(default_factory=list)
    contents: list[tuple[str, int]] = field(default_factory=list)  # The start of each, by name.
    # Their size so far, in slices, or in floats if the kernel computes row-major.
    size: int = 0

    @property
    def pairs(self) -> bool:
        """Whether elements of the array are two slices."""
        return self.halved and self.in_pairs and "pairs" in self.target.language.elements

    def add(self, what: str, array: Constant) -> int:
        """Append an array; returns its start."""
        lanes = self.target.lanes
        if self.pairs and array.size // lanes % 2:
            array = np.pad(np.asarray(array).reshape(-1, lanes), ((0, 1), (0, 0)))
        base = self.size
        self.contents.append((what, base))
        self.size += array.size // (lanes if self.sliced else 1)
        self.arrays.append(array)
        return base

    def accessor(self, shape: Shape) -> Accessor:
        """That of constants of a shape, at the start of the array."""
        memory = Buffer(CONSTANTS, self.target.language, self.target.lanes, self.used)
        if not self.sliced:
            return Linear(memory, HalfNumbers() if self.halved else Numbers(), shape)
        codec = slice_codec(HALF_LANE if self.halved else FLOAT_LANE, self.half)
        codec = PairedHalves(single=not self.half) if self.pairs else codec
        return Sliced.of(memory, codec, shape)

    def in_a_row(self, size: int) -> Accessor:
        """That of so many floats in a row: each slice is a column if sliced."""
        lanes = self.target.lanes
        return self.accessor((1, 1, size // lanes, lanes) if self.sliced else (size,))

    def whole(self) -> Accessor:
        """That of the array."""
        return self.in_a_row(self.size * (self.target.lanes if self.sliced else 1))

    @property
    def texel(self) -> int:
        """Bytes of a texel if the device profile asks for an image that holds them; else 0."""
        fits = self.size <= self.target.device.image_texels
        if not (self.sliced and self.target.weight_images and fits):
            return 0
        return (HALF_LANE if self.halved else FLOAT_LANE).bytes * self.target.lanes
