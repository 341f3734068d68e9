"""Bounded access to a flatbuffer nobody has verified.

Python's flatbuffers package has no verifier: its accessors follow any offset, and a vector claims
any length. All access to a model's bytes therefore goes through a `Source`, which turns whatever
they raise into a ModelError that names the place, and counts what is read, because a small file
can refer to the same vector a million times.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ModelError

ITEMS = 1 << 23
"""Most numbers and characters a model may hold outside its buffers; a table counts as eight."""

_TABLE_ITEMS = 8

TABLES = 100_000
"""Most tensors, operators and the like; the largest models known have some thousands."""

COPIED = 1 << 28
"""Most bytes of buffers that may be decoded into memory of our own."""

_LONGEST_NAME = 200

_RUBBISH = (
    struct.error,
    IndexError,
    KeyError,
    ValueError,
    TypeError,
    OverflowError,
    AttributeError,
)


def printable(name: str) -> str:
    """A name from a file as it may stand in a message: short, and without control characters."""
    kept = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 3] + "..."
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in kept
    )


class Source:
    """The bytes of a model file and what may still be read of them."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        # Writers share equal strings and vectors, so a sound file may be read a few times over.
        self._items = min(ITEMS, 8 * len(data) + 4096)
        self._copied = COPIED

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Errors raised inside name `place`; anything flatbuffers raises becomes a ModelError."""
        try:
            yield
        except ModelError as error:
            raise ModelError(f"{printable(place)}: {error}") from error.__cause__
        except _RUBBISH as error:
            raise ModelError(
                f"{printable(place)}: the bytes make no sense; the file is damaged or cut short"
            ) from error

    def spend(self, items: int) -> None:
        """Count numbers or characters about to be read; ModelError once there are too many."""
        self._items -= items
        if self._items < 0:
            raise ModelError("lists and names claim more bytes than the file has")

    def copy(self, size: int) -> None:
        """Count bytes about to be decoded into memory; ModelError once there are too many."""
        self._copied -= size
        if self._copied < 0:
            raise ModelError(f"packed constants need more than {COPIED >> 20} MiB once unpacked")

    def length(self, table: Any, field: str) -> int:
        """The length of a vector, which is counted as read."""
        length = int(getattr(table, f"{field}Length")())
        self.spend(length)
        return length

    def children(self, table: Any, field: str) -> list[Any]:
        """The tables of a vector of tables, of which a model may have TABLES."""
        child, length = getattr(table, field), self.length(table, field)
        if length > TABLES:
            raise ModelError(f"the file claims {length} {field}, more than the {TABLES} allowed")
        self.spend((_TABLE_ITEMS - 1) * length)
        return [child(position) for position in range(length)]

    def numbers(self, table: Any, field: str) -> tuple[Any, ...]:
        """The Python numbers of a vector, () if it is left out."""
        if not self.length(table, field):
            return ()
        return tuple(getattr(table, f"{field}AsNumpy")().tolist())

    def text(self, table: Any, field: str) -> str:
        """A string, "" if it is left out."""
        value = getattr(table, field)() or b""
        self.spend(len(value))
        return str(value, "utf-8", "replace")

    def view(self, table: Any, field: str) -> NDArray[np.uint8]:
        """The bytes of a vector of bytes, where they lie."""
        if not getattr(table, f"{field}Length")():
            return np.empty(0, np.uint8)
        view: NDArray[np.uint8] = getattr(table, f"{field}AsNumpy")()
        return view

    def span(self, offset: int, size: int) -> NDArray[np.uint8]:
        """Bytes that lie outside the flatbuffer, counted from the start of the file."""
        if offset + size > len(self.data):
            raise ModelError(
                f"bytes {offset} to {offset + size} are wanted of a file of {len(self.data)}"
            )
        return np.frombuffer(self.data, np.uint8, size, offset)
