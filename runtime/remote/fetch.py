"""Fetching one variant from a store into the user's cache, whole or not at all.

    <user's cache>/stores/<digest of the store's URL>/<model fingerprint>/<variant>/

Each of these stores' folders is a cache whose variants keep their manifest beside the plan, so that
they can be found, and their signatures checked, while the store cannot be reached.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from ..errors import PlanError, StoreError
from ..plan.records import Plan
from ..store.cache import lock, variant_folder
from ..store.private_files import make_private, sync_folder
from ..store.replacing import replace_folder
from ..store.variant import read_plan, read_variant
from .files import download
from .files import read_plan as download_plan
from .keys import Trust, Trusted, refusal
from .manifest import MANIFEST, Publication, from_bytes, to_bytes
from .published import Entry, address, find, published
from .store import Store
from .url import without_password

ATTEMPTS = 5
"""How often to fetch a variant that another process replaces meanwhile."""

Choose = Callable[[Sequence[tuple[Path, Plan]]], Path]
"""Chooses one of several variants, by the folder in which each would be kept."""


def fetch(url: str, model: str | os.PathLike[str] | None, trust: Trust, choose: Choose) -> Path:
    """The folder, in the user's cache, of a variant at a URL, fetched unless it is there already.

    `url` is that of a store, of a model in it or of one variant. If the store cannot be reached,
    what was fetched before is used. PlanError if there is no such variant, it is not trusted or its
    files are damaged, StoreError if the store cannot be reached and nothing was fetched before.
    """
    trusted, where = Trusted(trust), address(url)
    copies = copies_of(where.store)
    try:
        store = Store(where.store)
        found = _trusted(store, find(store, where, model), trusted)
        chosen = _chosen(store, found, copies, choose)
        return _fetch(store, chosen, copies, trusted)
    except StoreError:
        with suppress(PlanError, StoreError):
            kept = Store(copies.as_uri())
            found = _trusted(kept, find(kept, where, model), trusted)
            present = [each for each in found if _is_copy(_folder(copies, each), each)]
            if present:
                return _folder(copies, _chosen(kept, present, copies, choose))
        raise


def copies_of(store: str) -> Path:
    """Where the variants fetched from a store are kept, given its URL."""
    from platformdirs import user_cache_path

    name = hashlib.sha256(without_password(store).encode()).hexdigest()[:16]
    return user_cache_path("tflgpu") / "stores" / name


def _trusted(store: Store, found: Sequence[Entry], trusted: Trusted) -> list[Publication]:
    """Those that may be run (PlanError if there are none)."""
    accepted, refused = [], []
    for entry in found:
        if entry.publication is None:
            refused.append(entry.problem)
            continue
        reason = trusted.objection(entry.publication)
        if reason is None:
            accepted.append(entry.publication)
        else:
            refused.append(refusal(store.at(entry.path), reason))
    if not accepted:
        raise PlanError("\n".join(refused))
    return accepted


def _chosen(
    store: Store, found: Sequence[Publication], copies: Path, choose: Choose
) -> Publication:
    """One of several variants, chosen by their plans, which alone are read for that."""
    if len(found) == 1:
        return found[0]
    folders = {_folder(copies, each): each for each in found}
    plans = [(folder, _plan(store, folder, each)) for folder, each in folders.items()]
    return folders[choose(plans)]


def _plan(store: Store, folder: Path, publication: Publication) -> Plan:
    if _is_copy(folder, publication):
        return read_plan(folder)
    return download_plan(store, publication)


def _fetch(store: Store, publication: Publication, copies: Path, trusted: Trusted) -> Path:
    manifest = publication.manifest
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _copy(store, publication, copies)
        except PlanError:
            current = published(store, manifest.fingerprint, manifest.variant)
            if current is None or current == publication or attempt == ATTEMPTS:
                raise
            trusted.check(current, store.at(manifest.path))
            publication = current
    raise AssertionError("unreachable")


def _copy(store: Store, publication: Publication, copies: Path) -> Path:
    """The folder of a variant's copy, made unless it is there (PlanError, StoreError)."""
    folder = _folder(copies, publication)
    make_private(copies)
    make_private(folder.parent)
    try:
        with lock(folder):
            if not _is_copy(folder, publication):
                replace_folder(folder, lambda new: _download(store, publication, new))
    except OSError as error:
        raise PlanError(f"cannot write {folder}: {error.strerror or error}") from error
    return folder


def _folder(copies: Path, publication: Publication) -> Path:
    return variant_folder(copies, publication.manifest.fingerprint, publication.manifest.variant)


def _is_copy(folder: Path, publication: Publication) -> bool:
    """Whether a folder holds an undamaged copy of a variant, with the same signatures."""
    try:
        kept = from_bytes((folder / MANIFEST).read_bytes(), str(folder / MANIFEST))
        if kept.manifest != publication.manifest or kept.signatures != publication.signatures:
            return False
        read_variant(folder)
    except (PlanError, OSError):
        return False
    return True


def _download(store: Store, publication: Publication, folder: Path) -> None:
    """Fill a new folder with a variant's files, each as its manifest says."""
    files = publication.manifest.files
    above = {parent for path in files for parent in (folder / path).parents}
    folders = sorted({folder} | {each for each in above if folder in each.parents})
    for each in folders:
        each.mkdir(mode=0o700)
    download(store, publication, folder)
    for path in files:
        (folder / path).chmod(0o600)
        with (folder / path).open("rb") as file:
            os.fsync(file.fileno())
    with os.fdopen(os.open(folder / MANIFEST, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(to_bytes(publication))
        file.flush()
        os.fsync(file.fileno())
    for each in folders:
        sync_folder(each)
