"""A store at a URL as a place for what a run compiles."""

from __future__ import annotations

from collections.abc import Callable
from random import uniform
from time import monotonic, sleep

from ...runtime.errors import PlanError, StoreError
from ...runtime.remote.files import read_plan
from ...runtime.remote.keys import SigningKey
from ...runtime.remote.publish import is_intact, publish
from ...runtime.remote.published import listed, published
from ...runtime.remote.store import Store
from ..emit.compiled_model import CompiledModel
from ..pipeline import store as write
from ..scratch import scratch_folder
from .place import Change, Kept
from .place_folder import kept

ATTEMPTS = 20
"""How often to change a file in a store that other processes change at the same time."""
PAUSE = (0.3, 0.6)
"""Seconds after which to look whether a change is still there, at least."""
SLOWER = 3
"""How many times as long as a change has taken one of another process may take."""


class Remote:
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
            return Kept(url, kept(folder).size, lambda: compiled.plan.parts)

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
