"""Ledgers: records that many processes add to a store at the same time.

    <store>/<folder>/<random>.json

A file has records of one writer and is never changed. When there are many files, they are replaced
by one that has all of their records, which is written before the others are removed. So no record
is lost, whoever writes at the same time or is killed, and no step needs a lock.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from secrets import token_hex

from ..errors import StoreError
from .store import Store

INDEX = "index"  # The ledger of what is published; see `index`.
ROWS = "rows"  # The ledger of what became of the tasks of runs; see `compiler.fleet.row`.
FILES = 32  # How many files of a ledger are left side by side.
ATTEMPTS = 5  # How often to read a ledger that other processes rewrite.

_NAME = re.compile(r"[0-9a-f]{16}\.json\Z")


class Ledger:
    """The files of a ledger. What they hold is up to who writes them."""

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._folder = folder

    def exists(self) -> bool:
        """Whether anything was ever added to it (StoreError)."""
        return bool(self._files())

    def contents(self) -> dict[str, bytes]:
        """The content of each file, by its URL (StoreError)."""
        for _ in range(ATTEMPTS):
            files = self._files()
            found = self._read(files)
            # If a file has gone, its records are in one that was not there yet.
            if len(found) == len(files):
                return found
        raise StoreError(
            f"other processes keep replacing {self._store.at(self._folder)}; try again"
        )

    def add(self, content: bytes) -> str:
        """Add a file; returns its path (StoreError)."""
        path = f"{self._folder}/{token_hex(8)}.json"
        self._store.replace(path, content)
        return path

    def is_long(self) -> bool:
        """Whether there are so many files that they should be rewritten (StoreError)."""
        return len(self._files()) >= FILES

    def rewrite(self, merged: Callable[[Mapping[str, bytes]], bytes]) -> None:
        """Replace all files by one, which `merged` makes of their contents (StoreError)."""
        files = self._files()
        self.add(merged(self._read(files)))
        self._store.each(self._store.remove, files)

    def _files(self) -> list[str]:
        names = self._store.names(self._folder)
        return [f"{self._folder}/{name}" for name in names if _NAME.match(name)]

    def _read(self, files: Sequence[str]) -> dict[str, bytes]:
        """The content of those files that are there."""
        contents = self._store.each(self._store.read, files)
        return {
            self._store.at(path): content
            for path, content in zip(files, contents, strict=True)
            if content is not None
        }
