"""Flatbuffers: one that is read from an untrusted file, and one that is being written.

The reader of the flatbuffers package follows any offset. Here every access is checked against the
bounds of the buffer and of the object, and all objects together may not take more bytes than the
buffer has: none can be referred to over and over again, so reading takes time in proportion to the
size of the file. Format: https://flatbuffers.dev/internals/
"""

import struct
from collections.abc import Iterable, Sequence

LARGEST_COUNT = 1 << 18  # Elements a vector may have.
OFFSET = struct.Struct("<I")  # How far ahead an object lies; also how many elements a vector has.
# How far back the vtable of a table lies; the table starts with it.
VTABLE_OFFSET = struct.Struct("<i")
# Bytes of the vtable and of the table. Then, for each field, its offset in the table or 0.
VTABLE_HEADER = struct.Struct("<HH")


def check_count(count: int) -> None:
    """ValueError if a vector may not have so many elements."""
    if count > LARGEST_COUNT:
        raise ValueError(f"a vector of {count} elements; the limit is {LARGEST_COUNT}")


class Buffer:
    """A flatbuffer. Its methods raise ValueError or struct.error if it is malformed."""

    def __init__(self, data: bytes, identifier: bytes) -> None:
        """Of a file with this identifier of four bytes; the root table's offset is at byte 0."""
        if data[OFFSET.size :][: len(identifier)] != identifier:
            raise ValueError(f"the file identifier {identifier.decode()} is missing")
        self.data = data
        self._unclaimed = len(data)

    def table(self, slot: int, field_count: int) -> tuple[int, int, Sequence[int]]:
        """Position and size of the table that the offset in a slot leads to.

        Also the offset of each of its first `field_count` fields in the table; 0 if it is absent.
        """
        start = self._follow(slot)
        vtable = start - int(VTABLE_OFFSET.unpack_from(self.data, start)[0])
        # Python would take a negative position for one from the end.
        if vtable < 0:
            raise ValueError(f"a vtable at byte {vtable}")
        vtable_size, size = VTABLE_HEADER.unpack_from(self.data, vtable)
        self._claim(start, size)
        count = min(max(vtable_size - VTABLE_HEADER.size, 0) // 2, field_count)
        position = vtable + VTABLE_HEADER.size
        offsets = struct.unpack_from(f"<{count}H", self.data, position)
        # The table may have been written before the last fields existed.
        return start, size, (*offsets, *[0] * (field_count - count))

    def vector(self, slot: int, element_size: int) -> tuple[int, int]:
        """Position and number of the elements of the vector that the offset in a slot leads to."""
        start, count = self._sized(slot, element_size)
        check_count(count)
        return start, count

    def content(self, slot: int) -> bytes:
        """The bytes, of a string or a vector of them, that the offset in a slot leads to."""
        start, count = self._sized(slot, 1)
        return self.data[start : start + count]

    def _sized(self, slot: int, element_size: int) -> tuple[int, int]:
        start = self._follow(slot)
        (count,) = OFFSET.unpack_from(self.data, start)
        self._claim(start, OFFSET.size + count * element_size)
        return start + OFFSET.size, count

    def _follow(self, slot: int) -> int:
        return slot + int(OFFSET.unpack_from(self.data, slot)[0])

    def _claim(self, start: int, size: int) -> None:
        """Let an object have these bytes for itself."""
        self._unclaimed -= size
        if start + size > len(self.data) or self._unclaimed < 0:
            raise ValueError(f"no room for {size} bytes at byte {start} of {len(self.data)}")


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
        # Of those that are present, from the start of the table.
        self.offsets = [offset for offset in offsets if offset]
        shape = struct.pack(f"<{count}H", *offsets)
        self.vtable = VTABLE_HEADER.pack(VTABLE_HEADER.size + len(shape), end) + shape


class Draft:
    """A flatbuffer that is being written, from its start to its end, with its root at byte 0.

    What holds an offset is written before what the offset leads to. Equal vtables are written once.
    """

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
