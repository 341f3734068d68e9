"""A cache folder as a place for what a run compiles."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from filelock import FileLock

from ...runtime.errors import PlanError
from ...runtime.store.binaries import BINARIES
from ...runtime.store.cache import variant_folder
from ...runtime.store.private_files import make_private, read_file, replace_file
from ...runtime.store.variant import PLAN, read_variant
from ..emit.compiled_model import CompiledModel
from ..pipeline import store as write
from .place import Change, Kept

LARGEST_FILE = 1 << 28
"""Bytes of a file that is changed, at most."""


class Folder:
    """A cache folder."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache

    def find(self, fingerprint: str, variant: str) -> Kept | None:
        folder = variant_folder(self._cache, fingerprint, variant)
        try:
            read_variant(folder)
        except PlanError:
            return None
        return kept(folder)

    def put(self, compiled: CompiledModel) -> Kept:
        return kept(write(compiled, self._cache))

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


def kept(folder: Path) -> Kept:
    """The variant in a folder."""
    size = 0
    for parent, folders, files in os.walk(folder):
        if BINARIES in folders:
            folders.remove(BINARIES)
        for name in files:
            with suppress(FileNotFoundError):  # a temporary file of another process
                size += Path(parent, name).lstat().st_size
    return Kept(folder, size, lambda: read_variant(folder).plan.parts)
