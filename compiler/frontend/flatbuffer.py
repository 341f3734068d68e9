"""Bounded access to an untrusted flatbuffer.

Python's flatbuffers package has no verifier: its accessors follow any offset, and a vector may
claim any length. All access to a model's bytes therefore goes through a `Source`. It turns whatever
the accessors raise into a ModelError that names the place, and limits how much is read, because a
small file can refer to the same vector a million times.
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...runtime.printable import printable
from ..errors import ModelError

ITEMS = 1 << 23  # Most numbers and characters read outside of buffers; a table counts as eight.
_TABLE_ITEMS = 8  # What a table counts towards ITEMS.

# Most entries of a vector of tables; the largest known models have some thousands of tensors.
TABLES = 100_000

# Most bytes of buffers that are decoded into new memory: these, and as many for each of the file.
# Weights of 2 bits take four each, and those that several subgraphs share are decoded for each.
COPIED = 1 << 28
COPIED_EACH = 16

_MALFORMED = (
    struct.error,
    IndexError,
    KeyError,
    ValueError,
    TypeError,
    OverflowError,
    AttributeError,
)


class Source:
    """The bytes of a model file, and the budget for reading them."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        # Writers share equal strings and vectors, so a valid file may be read several times over.
        self._items = min(ITEMS, 8 * len(data) + 4096)
        self._most_copied = self._copied = COPIED + COPIED_EACH * len(data)

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Prefix errors with `place`; whatever flatbuffers raises becomes a ModelError."""
        try:
            yield
        except ModelError as error:
            raise ModelError(f"{printable(place)}: {error}") from error.__cause__
        except _MALFORMED as error:
            raise ModelError(
                f"{printable(place)}: the data is invalid; the file is damaged or incomplete"
            ) from error

    def spend(self, items: int) -> None:
        """Count numbers or characters about to be read (ModelError if there are too many)."""
        self._items -= items
        if self._items < 0:
            raise ModelError("its lists and names are larger than the file")

    def copy(self, size: int) -> None:
        """Count bytes about to be decoded into new memory (ModelError if there are too many)."""
        self._copied -= size
        if self._copied < 0:
            most = self._most_copied >> 20
            raise ModelError(f"its constants take more than {most} MiB once decoded")

    def length(self, table: Any, field: str) -> int:
        """The length of a vector, which counts as read."""
        length = int(getattr(table, f"{field}Length")())
        self.spend(length)
        return length

    def children(self, table: Any, field: str) -> list[Any]:
        """The tables of a vector (ModelError if there are more than TABLES)."""
        child, length = getattr(table, field), self.length(table, field)
        if length > TABLES:
            raise ModelError(f"the file has {length} {field}, but at most {TABLES} are allowed")
        self.spend((_TABLE_ITEMS - 1) * length)
        return [child(position) for position in range(length)]

    def numbers(self, table: Any, field: str) -> tuple[Any, ...]:
        """The values of a vector as Python numbers; () if it is left out."""
        if not self.length(table, field):
            return ()
        return tuple(getattr(table, f"{field}AsNumpy")().tolist())

    def text(self, table: Any, field: str) -> str:
        """A string; "" if it is left out."""
        value = getattr(table, field)() or b""
        self.spend(len(value))
        return str(value, "utf-8", "replace")

    def view(self, table: Any, field: str) -> NDArray[np.uint8]:
        """The bytes of a vector, not copied."""
        if not getattr(table, f"{field}Length")():
            return np.empty(0, np.uint8)
        view: NDArray[np.uint8] = getattr(table, f"{field}AsNumpy")()
        return view

    def span(self, offset: int, size: int) -> NDArray[np.uint8]:
        """Bytes after the flatbuffer, by their offset in the file (ModelError)."""
        if offset + size > len(self.data):
            raise ModelError(
                f"it refers to bytes {offset} to {offset + size}, but the file has {len(self.data)}"
            )
        return np.frombuffer(self.data, np.uint8, size, offset)
