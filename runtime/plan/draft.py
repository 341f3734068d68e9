"""A flatbuffer that is being written, from its start to its end.

What holds an offset is written before what the offset leads to. Equal vtables are written once.
"""

import struct
from collections.abc import Iterable

from .buffer import OFFSET, VTABLE_HEADER, VTABLE_OFFSET


class TableLayout:
    """Where the fields lie in tables that have the same ones."""

    def __init__(self, count: int, fields: Iterable[tuple[int, int, int]]) -> None:
        """Of `count` fields, some are present: their numbers, sizes and alignments."""
        offsets, end = [0] * count, VTABLE_OFFSET.size
        self.alignment = end
        for number, size, alignment in fields:
            offsets[number] = end + -end % alignment
            end = offsets[number] + size
            self.alignment = max(self.alignment, alignment)
        self.size = end
        self.offsets = [offset for offset in offsets if offset]
        """Of those that are present, from the start of the table."""
        shape = struct.pack(f"<{count}H", *offsets)
        self.vtable = VTABLE_HEADER.pack(VTABLE_HEADER.size + len(shape), end) + shape


class Draft:
    """A flatbuffer; the offset of its root table is at byte 0."""

    def __init__(self, identifier: bytes) -> None:
        """Of a file with this identifier of four bytes."""
        self.data = bytearray(OFFSET.size) + identifier
        self._vtables: dict[bytes, int] = {}

    def table(self, slot: int, layout: TableLayout) -> int:
        """Position of a new table of zeros, to which the offset in a slot leads."""
        if layout.vtable not in self._vtables:
            self._align(2)
            self._vtables[layout.vtable] = len(self.data)
            self.data += layout.vtable
        self._align(layout.alignment)
        start = len(self.data)
        self._lead(slot, start)
        self.data += bytes(layout.size)
        VTABLE_OFFSET.pack_into(self.data, start, start - self._vtables[layout.vtable])
        return start

    def vector(self, slot: int, content: bytes, count: int, alignment: int = 1) -> int:
        """Position of the first element of a new vector, to which the offset in a slot leads."""
        self._align(max(alignment, OFFSET.size), OFFSET.size)
        self._lead(slot, len(self.data))
        self.data += OFFSET.pack(count)
        start = len(self.data)
        self.data += content
        return start

    def _align(self, alignment: int, ahead: int = 0) -> None:
        """Let what follows so many bytes behind the end lie at a multiple of the alignment."""
        self.data += bytes(-(len(self.data) + ahead) % alignment)

    def _lead(self, slot: int, position: int) -> None:
        OFFSET.pack_into(self.data, slot, position - slot)
