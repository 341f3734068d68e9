"""Tables of whole numbers among the constants of a kernel, each entry a byte."""

from dataclasses import dataclass

import numpy as np

from ...ir import Array
from ...language.expression import Expression, Operand, Real
from ...language.types import FLOATS
from ..memory import Buffer
from .floats import Floats

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
