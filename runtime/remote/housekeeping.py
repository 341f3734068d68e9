"""Maintaining a store: checking it, and freeing space.

Stores have no locks. A variant is removed by its manifest, before its files, so that no reader
finds half of it; and what a writer has not finished is left alone for a day.
"""

from __future__ import annotations

from ..errors import PlanError
from ..store.cache import is_fingerprint
from .files import check
from .index import is_unfinished, record_of, rewrite
from .keys import Trusted
from .manifest import MANIFEST, UNFINISHED, folder_age, is_variant
from .published import Entry, entries, published
from .store import Store


def problem(store: Store, entry: Entry, trusted: Trusted) -> str:
    """Why a variant could not be loaded by whoever trusts these keys; empty if it could.

    Reads all of its files. StoreError if the store cannot be read.
    """
    if entry.publication is None:
        return entry.problem
    try:
        trusted.check(entry.publication, store.at(entry.path))
        check(store, entry.publication)
    except PlanError as error:
        return str(error)
    return ""


def prune(store: Store, size: int) -> list[Entry]:
    """Remove the variants published first until the rest take at most `size` bytes.

    Returns those removed. Also removes files that no manifest refers to and that are a day old.
    Variants that are replaced meanwhile are kept. The index is put right. StoreError if something
    cannot be removed, PlanError if the index is damaged.
    """
    store.check_writable()
    present = sorted(entries(store), key=lambda entry: (entry.published, entry.path))
    excess = sum(entry.size for entry in present) - size
    removed = []
    for entry in present:
        # Damaged ones have no size that is known.
        if excess <= 0 and size > 0:
            break
        if _remove(store, entry):
            removed.append(entry)
            excess -= entry.size
    gone = {entry.path for entry in removed}
    left = [
        record_of(entry.publication)
        for entry in present
        if entry.publication and entry.path not in gone
    ]
    rewrite(store, left, lambda record: record.path not in gone and is_unfinished(record))
    _remove_leftovers(store)
    return removed


def _remove(store: Store, entry: Entry) -> bool:
    """Remove a variant; False if it has been replaced."""
    fingerprint, _, variant = entry.path.partition("/")
    try:
        if published(store, fingerprint, variant) != entry.publication:
            return False
    except PlanError:
        if entry.publication is not None:
            return False
    store.remove(f"{entry.path}/{MANIFEST}")
    if entry.publication is not None:
        store.remove(entry.publication.files)
    return True


def _remove_leftovers(store: Store) -> None:
    """Remove what killed processes left behind, and folders without anything in them."""
    models = [name for name in store.names() if is_fingerprint(name)]

    def clean(path: str) -> None:
        fingerprint, _, variant = path.partition("/")
        try:
            found = published(store, fingerprint, variant)
        except PlanError:
            return  # it may be of a newer version
        for name in store.names(path):
            age = folder_age(name)
            if age is not None and age > UNFINISHED and (found is None or found.folder != name):
                store.remove(f"{path}/{name}")
        if found is None:
            store.remove_if_empty(path)

    for model in models:
        store.each(clean, [f"{model}/{name}" for name in store.names(model) if is_variant(name)])
        store.remove_if_empty(model)
