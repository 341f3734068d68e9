"""Slices of whole numbers, each stored as an unsigned integer: the number less the least one.

Kernels compute with the numbers as floats. Lanes past the last channel are integers that stand for
0.
"""

from dataclasses import dataclass

import numpy as np

from ...ir import Array
from ...language.expression import Expression, Operand, Real
from ...language.statement import Statement
from ...language.types import FLOATS
from ..memory import Buffer
from .codec import SliceCodec
from .floats import Floats


@dataclass(frozen=True)
class Whole(SliceCodec):
    """Integers of a width, by the intrinsics that access them."""

    stored: str
    _load: str
    _lane: str
    _save: str
    least: int = 0  # The number that a stored 0 stands for.

    repeats_index: bool = False

    repeats = True

    def load(self, memory: Buffer, index: Operand) -> Expression:
        return memory.call(self._load, index, self._least, kind=FLOATS)

    def lane(self, memory: Buffer, index: Operand, lane: Operand) -> Expression:
        return memory.call(self._lane, index, lane, self._least)

    def save(self, memory: Buffer, index: Operand, value: Operand) -> Statement:
        return memory.do(self._save, index, value, self._least)

    @property
    def _least(self) -> Expression:
        return Real(self.least)


# Integers of 8 bits; in GLSL a slice is an unsigned integer with lane 0 in its lowest bits.
BYTES = Whole("byte", "load_bytes", "byte_lane", "store_bytes")

# Integers of 4 bits of constants; a byte is lanes of two slices, of the first its lower half.
NIBBLES = Whole("byte", "load_nibbles", "", "", repeats_index=True)

# Integers of 16 bits; in GLSL a slice is two unsigned integers with two lanes each.
SHORTS = Whole("short", "load_shorts", "short_lane", "store_shorts")

ENTRIES = 256


@dataclass(frozen=True)
class ByteTable(Floats):
    """A table of 256 bytes, each a whole number less the least one, in slices of integers."""

    least: int = 0

    def numbers(self, memory: Buffer, indices: Operand, base: int) -> Expression:
        return memory.call("look_up_bytes", base, indices, Real(self.least), kind=FLOATS)


def byte_table(entries: Array) -> tuple[ByteTable, Array] | None:
    """The codec of a table, and its bytes as int32 [64]; None if bytes cannot hold its entries."""
    least = entries.min()
    excess = entries - least
    if entries.size > ENTRIES or not (np.rint(excess) == excess).all() or excess.max() > 255:
        return None
    filled = np.zeros(ENTRIES, np.uint8)
    filled[: entries.size] = excess
    return ByteTable(int(least)), filled.view(np.int32)
