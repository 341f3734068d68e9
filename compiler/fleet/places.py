"""Where a run puts its variants: a cache folder, or a store at a URL."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import uniform
from time import monotonic, sleep
from typing import Protocol

from filelock import FileLock

from ...runtime.errors import PlanError, StoreError
from ...runtime.plan.records import HostPart
from ...runtime.remote.files import read_plan
from ...runtime.remote.keys import SigningKey
from ...runtime.remote.publish import is_intact, publish
from ...runtime.remote.published import listed, published
from ...runtime.remote.store import Store
from ...runtime.remote.url import is_url
from ...runtime.store.binaries import BINARIES
from ...runtime.store.cache import variant_folder
from ...runtime.store.private_files import make_private, read_file, replace_file
from ...runtime.store.variant import PLAN, read_variant
from ..emit.compiled_model import CompiledModel
from ..errors import OptionError
from ..pipeline import store as write
from ..scratch import scratch_folder

LARGEST_FILE = 1 << 28
"""Bytes of a file that is changed, at most."""
ATTEMPTS = 20
"""How often to change a file in a store that other processes change at the same time."""
PAUSE = (0.3, 0.6)
"""Seconds after which to look whether a change is still there, at least."""
SLOWER = 3
"""How many times as long as a change has taken one of another process may take."""

Change = Callable[[bytes | None], bytes]
"""Takes the content of a file, None if there is none, and returns its new content.

Changing the result once more must give the same.
"""


@dataclass(frozen=True)
class Kept:
    """A variant that a place has."""

    path: Path | str
    """The variant's folder, or its URL."""
    size: int
    """Bytes of all files but the binaries, which drivers made."""
    parts: Callable[[], tuple[HostPart, ...]]
    """Its parts on LiteRT."""


class Place(Protocol):
    """A cache, here or elsewhere. PlanError or StoreError if it cannot be used."""

    def find(self, fingerprint: str, variant: str) -> Kept | None:
        """A variant that is there and whole; else None."""

    def put(self, compiled: CompiledModel) -> Kept:
        """Write a variant, whole or not at all, unless it is there."""

    def holding(self) -> Callable[[str, str], bool]:
        """A function that says whether a variant is there, by fingerprint and name."""

    def at(self, name: str) -> str:
        """The path or the URL of a file beside the models, for display."""

    def read(self, name: str) -> bytes | None:
        """The content of such a file; None if there is none."""

    def change(self, name: str, change: Change) -> None:
        """Change such a file, whole or not at all, whatever other processes change in it."""


def place(cache: str | os.PathLike[str], sign: str | os.PathLike[str] = "") -> Place:
    """The place that a path or a URL means; `sign` is the file of a key for a store.

    OptionError if a key is given for a folder, StoreError if the store or the key cannot be used.
    """
    if is_url(cache):
        store = Store(cache)
        store.check_writable()
        return _Remote(store, SigningKey(sign) if sign else None)
    if sign:
        raise OptionError(f"{os.fspath(cache)} is a folder; only what goes to a URL is signed")
    return _Folder(Path(cache))


class _Folder:
    """A cache folder."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def find(self, fingerprint: str, variant: str) -> Kept | None:
        folder = variant_folder(self._cache, fingerprint, variant)
        try:
            read_variant(folder)
        except PlanError:
            return None
        return _kept(folder)

    def put(self, compiled: CompiledModel) -> Kept:
        return _kept(write(compiled, self._cache))

    def holding(self) -> Callable[[str, str], bool]:
        def holds(fingerprint: str, variant: str) -> bool:
            return (variant_folder(self._cache, fingerprint, variant) / PLAN).is_file()

        return holds

    def at(self, name: str) -> str:
        return str(self._cache / name)

    def read(self, name: str) -> bytes | None:
        path = self._cache / name
        return read_file(path, LARGEST_FILE) if path.exists() else None

    def change(self, name: str, change: Change) -> None:
        path = self._cache / name
        make_private(self._cache)
        try:
            with FileLock(path.with_name(f".{name}.lock"), mode=0o600):
                replace_file(path, change(self.read(name)))
        except OSError as error:
            raise PlanError(f"cannot write {path}: {error.strerror or error}") from error


class _Remote:
    """A store. What is put there is written to a temporary cache first."""

    def __init__(self, store: Store, key: SigningKey | None) -> None:
        self._store = store
        self._key = key

    def find(self, fingerprint: str, variant: str) -> Kept | None:
        try:
            found = published(self._store, fingerprint, variant)
        except PlanError:
            return None
        unsigned = self._key is not None and found is not None and not self._key.signed(found)
        if found is None or unsigned or not is_intact(self._store, found):
            return None
        whole = found
        url = self._store.at(whole.manifest.path)
        return Kept(url, whole.manifest.size, lambda: read_plan(self._store, whole).parts)

    def put(self, compiled: CompiledModel) -> Kept:
        with scratch_folder() as cache:
            folder = write(compiled, cache)
            url = publish(folder, self._store, self._key)
            return Kept(url, _kept(folder).size, lambda: compiled.plan.parts)

    def holding(self) -> Callable[[str, str], bool]:
        paths = {record.path for record in listed(self._store)}
        return lambda fingerprint, variant: f"{fingerprint}/{variant}" in paths

    def at(self, name: str) -> str:
        return self._store.at(name)

    def read(self, name: str) -> bytes | None:
        return self._store.read(name)

    def change(self, name: str, change: Change) -> None:
        # Stores have no locks. Whoever read the file before this change has overwritten it after a
        # pause that is longer than such a change takes; then it is made again.
        for _ in range(ATTEMPTS):
            start = monotonic()
            self._store.replace(name, change(self._store.read(name)))
            sleep(uniform(*PAUSE) + SLOWER * (monotonic() - start))
            found = self._store.read(name)
            if found == change(found):
                return
        raise StoreError(f"other processes keep changing {self._store.at(name)}; try again")


def _kept(folder: Path) -> Kept:
    size = 0
    for parent, folders, files in os.walk(folder):
        if BINARIES in folders:
            folders.remove(BINARIES)
        for name in files:
            with suppress(FileNotFoundError):  # a temporary file of another process
                size += Path(parent, name).lstat().st_size
    return Kept(folder, size, lambda: read_variant(folder).plan.parts)
