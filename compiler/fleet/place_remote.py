"""A store at a URL as a place for what a run compiles."""

from collections.abc import Mapping, Sequence

from ...runtime.errors import PlanError
from ...runtime.plan.records import Plan
from ...runtime.remote.copies import read_plan
from ...runtime.remote.keys import SigningKey
from ...runtime.remote.ledger import ROWS, Ledger
from ...runtime.remote.publish import is_intact, publish
from ...runtime.remote.published import listed, published
from ...runtime.remote.store import Store
from ..emit.compiled_model import CompiledModel
from ..pipeline import write
from ..scratch import scratch_folder
from .place import Kept, kept
from .result import Row, from_bytes, merged, to_bytes


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
        return read_plan(self._store, found)

    def read_rows(self) -> list[Row]:
        return _all(self._rows.contents())

    def add_rows(self, rows: Sequence[Row]) -> None:
        if self._rows.is_long():
            self._rows.rewrite(lambda contents: to_bytes([*self._kept(contents), *rows]))
        else:
            self._rows.add(to_bytes(rows))

    def _kept(self, contents: Mapping[str, bytes]) -> list[Row]:
        # The index after the rows: whatever has a row is in the index, unless it was removed.
        paths = {record.path for record in listed(self._store)}
        return merged(
            _all(contents), lambda fingerprint, variant: f"{fingerprint}/{variant}" in paths
        )


def _all(contents: Mapping[str, bytes]) -> list[Row]:
    return [row for url, content in contents.items() for row in from_bytes(content, url)]
