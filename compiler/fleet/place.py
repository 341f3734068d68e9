"""A place for what a run compiles: whatever it is, a cache folder as one, and a store at a URL."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from filelock import FileLock

from ...runtime.cache.binaries import BINARIES
from ...runtime.cache.folder import variant_folder
from ...runtime.cache.private_files import make_private, read_file, replace_file
from ...runtime.cache.variant import PLAN, read_plan, read_variant
from ...runtime.errors import PlanError
from ...runtime.plan.records import Plan
from ...runtime.remote import copies
from ...runtime.remote.keys import SigningKey
from ...runtime.remote.ledger import ROWS, Ledger
from ...runtime.remote.publish import is_intact, publish
from ...runtime.remote.published import listed, published
from ...runtime.remote.store import Store
from ..emit.compiled_model import CompiledModel
from ..pipeline import write
from ..scratch import scratch_folder
from .result import Row, from_bytes, merged, to_bytes


@dataclass(frozen=True)
class Kept:
    path: Path | str  # The variant's folder, or its URL.
    size: int  # Bytes of all files but the binaries, which drivers made.
    stamp: str  # A digest of when these files were changed last; empty if the place does not tell.


class Place(Protocol):
    """A cache, here or elsewhere. PlanError or StoreError if it cannot be used."""

    manifest: str  # The path or the URL of the rows, for display.
    # Whether other processes of this machine can write to it as well, with a pickled copy.
    shared: bool
    writers: int  # How many variants a process may write at a time.

    def find(self, fingerprint: str, variant: str, stamp: str) -> Kept | None:
        """A variant that is there and whole, or None; files with this known stamp are not read."""

    def put(self, compiled: CompiledModel) -> Kept:
        """Write a variant, whole or not at all, unless it is there."""

    def plan(self, fingerprint: str, variant: str) -> Plan:
        """The plan of a variant (PlanError if it is not there)."""

    def read_rows(self) -> list[Row]:
        """All rows, in no order."""

    def add_rows(self, rows: Sequence[Row]) -> None:
        """Add rows to those that this and other processes have written, whole or not at all."""


MANIFEST = "manifest.json"
LARGEST_MANIFEST = 1 << 28  # Bytes of a manifest, at most.


class Folder:
    """A cache folder, with its rows in `manifest.json`, which has a lock."""

    shared = True
    # In the order of their tasks: the one compiled last is the newest, which `export` takes.
    writers = 1

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._manifest = cache / MANIFEST
        self.manifest = str(self._manifest)

    def find(self, fingerprint: str, variant: str, stamp: str) -> Kept | None:
        folder = variant_folder(self._cache, fingerprint, variant)
        found = kept(folder)
        if not stamp or found.stamp != stamp:
            try:
                read_variant(folder)
            except PlanError:
                return None
        return found

    def put(self, compiled: CompiledModel) -> Kept:
        return kept(write(compiled, self._cache))

    def plan(self, fingerprint: str, variant: str) -> Plan:
        return read_plan(variant_folder(self._cache, fingerprint, variant))

    def read_rows(self) -> list[Row]:
        if not self._manifest.exists():
            return []
        return from_bytes(read_file(self._manifest, LARGEST_MANIFEST), self.manifest)

    def add_rows(self, rows: Sequence[Row]) -> None:
        make_private(self._cache, linked=True)
        try:
            with FileLock(self._cache / f".{MANIFEST}.lock", mode=0o600):
                # What a killed process left behind. Nobody else writes one now.
                for leftover in self._cache.glob(f".{self._manifest.stem}.*.tmp"):
                    leftover.unlink(missing_ok=True)
                found = merged([*self.read_rows(), *rows], self._holds)
                replace_file(self._manifest, to_bytes(found))
        except OSError as error:
            reason = error.strerror or error
            raise PlanError(f"cannot write {self.manifest}: {reason}") from error

    def _holds(self, fingerprint: str, variant: str) -> bool:
        return (variant_folder(self._cache, fingerprint, variant) / PLAN).is_file()


class Remote:
    """A store, written by way of a temporary cache. It has no locks, so rows lie in many files."""

    shared = False
    writers = 4

    def __init__(self, store: Store, key: SigningKey | None) -> None:
        self._store = store
        self._key = key
        self._rows = Ledger(store, ROWS)
        self.manifest = store.at(ROWS)

    def find(self, fingerprint: str, variant: str, stamp: str) -> Kept | None:
        try:
            found = published(self._store, fingerprint, variant)
        except PlanError:
            return None
        unsigned = self._key is not None and found is not None and not self._key.signed(found)
        if found is None or unsigned or not is_intact(self._store, found):
            return None
        return Kept(self._store.at(found.manifest.path), found.manifest.size, "")

    def put(self, compiled: CompiledModel) -> Kept:
        with scratch_folder() as cache:
            folder = write(compiled, cache)
            url = publish(folder, self._store, self._key)
            return Kept(url, kept(folder).size, "")

    def plan(self, fingerprint: str, variant: str) -> Plan:
        found = published(self._store, fingerprint, variant)
        if found is None:
            raise PlanError(
                f"{self._store.at(fingerprint)} has no {variant} any more; run it again"
            )
        return copies.read_plan(self._store, found)

    def read_rows(self) -> list[Row]:
        return _rows_of(self._rows.contents())

    def add_rows(self, rows: Sequence[Row]) -> None:
        if self._rows.is_long():
            self._rows.rewrite(lambda contents: to_bytes([*self._kept(contents), *rows]))
        else:
            self._rows.add(to_bytes(rows))

    def _kept(self, contents: Mapping[str, bytes]) -> list[Row]:
        # The index after the rows: whatever has a row is in the index, unless it was removed.
        paths = {record.path for record in listed(self._store)}
        return merged(
            _rows_of(contents), lambda fingerprint, variant: f"{fingerprint}/{variant}" in paths
        )


def _rows_of(contents: Mapping[str, bytes]) -> list[Row]:
    return [row for url, content in contents.items() for row in from_bytes(content, url)]


def kept(folder: Path) -> Kept:
    """The variant in a folder, which is not read.

    Its stamp changes with every write: a system sets the time of a change itself, whereas that of a
    modification can be set back.
    """
    size, lines = 0, []
    for parent, folders, files in os.walk(folder):
        if BINARIES in folders:
            folders.remove(BINARIES)
        for name in files:
            path = os.path.join(parent, name)
            with suppress(FileNotFoundError):  # a temporary file of another process
                status = os.lstat(path)
                size += status.st_size
                times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
                lines.append(f"{os.path.relpath(path, folder)}\0{status.st_size} {times}")
    return Kept(folder, size, hashlib.sha256("\0".join(sorted(lines)).encode()).hexdigest())
