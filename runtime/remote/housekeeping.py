"""Maintaining a store: checking it, and freeing space.

Stores have no locks. A variant is removed by its manifest, before its files, so that no reader
finds half of it; and what a writer has not finished is left alone for a day.
"""

import time

from ..cache.folder import is_fingerprint
from ..errors import PlanError
from .copies import check
from .index import Record, is_unfinished, record_of, rewrite
from .keys import Trusted
from .ledger import INDEX, ROWS
from .manifest import MANIFEST, NewerFormatError, Publication, is_variant
from .published import Entry, entries, published
from .stamps import is_old
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
    Variants that are replaced meanwhile are kept, and so are those of a newer version of tflgpu,
    whose size is not known and does not count. The index is put right. StoreError if something
    cannot be removed, PlanError if the index is damaged.
    """
    store.check_writable()
    began = time.time()
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
    # By path. Damaged ones have no time that is known.
    gone = {entry.path: entry.published or began for entry in removed}
    newer = {entry.path for entry in present if entry.newer}
    left = [
        record_of(entry.publication)
        for entry in present
        if entry.publication and entry.path not in gone
    ]

    def keep(record: Record) -> bool:
        # What was published again after it had been removed is there, or will be.
        there = record.published > gone.get(record.path, 0)
        return record.path in newer or (there and is_unfinished(record))

    rewrite(store, left, keep)
    _remove_leftovers(store)
    return removed


def _remove(store: Store, entry: Entry) -> bool:
    """Remove a variant; False if it has been replaced, or is of a newer version of tflgpu."""
    fingerprint, _, variant = entry.path.partition("/")
    try:
        if published(store, fingerprint, variant) != entry.publication:
            return False
    except PlanError as error:
        if entry.publication is not None or isinstance(error, NewerFormatError):
            return False
    store.remove(f"{entry.path}/{MANIFEST}")
    if entry.publication is not None:
        store.remove(entry.publication.files)
        if _is_signed_again(store, entry.publication):
            store.remove(f"{entry.path}/{MANIFEST}")
    return True


def _is_signed_again(store: Store, removed: Publication) -> bool:
    """Whether a writer who found a variant before it was removed has added a signature since."""
    try:
        found = published(store, removed.manifest.fingerprint, removed.manifest.variant)
    except PlanError:
        return False
    return found is not None and found.folder == removed.folder


def _remove_leftovers(store: Store) -> None:
    """Remove what killed processes left behind, and folders without anything in them."""
    for folder in ("", INDEX, ROWS):
        for name in filter(is_old, store.names(folder)):
            store.remove(f"{folder}/{name}".lstrip("/"))
    models = [name for name in store.names() if is_fingerprint(name)]

    def clean(path: str) -> None:
        fingerprint, _, variant = path.partition("/")
        try:
            found = published(store, fingerprint, variant)
        except PlanError:
            return  # it may be of a newer version
        for name in store.names(path):
            if is_old(name) and (found is None or found.folder != name):
                store.remove(f"{path}/{name}")
        if found is None:
            store.remove_if_empty(path)

    for model in models:
        store.each(clean, [f"{model}/{name}" for name in store.names(model) if is_variant(name)])
        store.remove_if_empty(model)
