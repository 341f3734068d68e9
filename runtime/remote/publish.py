"""Putting a compiled variant into a store, whole or not at all."""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PlanError, StoreError
from ..plan.records import Plan
from ..store.cache import is_fingerprint
from ..store.variant import PLAN, WEIGHTS, Variant, read_variant
from .files import check
from .index import add, record_of
from .manifest import MANIFEST, File, Manifest, Publication, is_variant, new_folder, to_bytes
from .published import published
from .store import Store

if TYPE_CHECKING:
    from .keys import SigningKey


def publish(folder: Path, store: Store, key: SigningKey | None = None) -> str:
    """Put a variant's folder into a store, signed if there is a key; returns its URL.

    A variant with the same files and that signature is left alone, any other of its name is
    replaced. It appears complete or not at all, even if several processes write it at once. The
    driver's binaries are not published: they are of use to one device.

    PlanError if the folder is not that of a whole variant, StoreError if the store cannot be
    written.
    """
    store.check_writable()
    manifest = manifest_of(folder)
    new = Publication(manifest, new_folder(), time.time())
    if key is not None:
        new = replace(new, signatures=(key.sign(manifest),))
    before = _present(store, new)
    if before is None or not _is_whole(store, before):
        _write(store, folder, new, before)
    return store.at(manifest.path)


def _write(store: Store, folder: Path, new: Publication, before: Publication | None) -> None:
    """Publish a variant, instead of one that is there and damaged, if there is one."""
    manifest = new.manifest
    written = [new.files]
    try:
        store.upload({f"{new.files}/{path}": folder / path for path in manifest.files})
        # Another process may have published the same meanwhile.
        if _present(store, new) in (None, before):
            written.append(add(store, record_of(new)))
            # From here on the manifest may be there, even if it seems that it was not written.
            written.clear()
            # By way of its own folder, which is removed as a whole if this process is killed.
            store.replace(f"{manifest.path}/{MANIFEST}", to_bytes(new), f"{new.files}/{MANIFEST}")
    finally:
        for path in written:
            with suppress(StoreError):
                store.remove(path)


def is_intact(store: Store, publication: Publication) -> bool:
    """Whether all files of a published variant are there in their sizes, without reading them."""
    expected = {path: file.size for path, file in publication.manifest.files.items()}
    return store.sizes(publication.files) == expected


def manifest_of(folder: Path) -> Manifest:
    """The manifest of a variant's folder in a cache (PlanError)."""
    variant = read_variant(folder)
    plan = variant.plan
    if not (is_fingerprint(plan.fingerprint) and is_variant(folder.name)):
        raise PlanError(f"{folder} is not named as a variant of a cache; compile the model again")
    contents = {path: _digest(folder / path) for path in files_of(variant)}
    return Manifest(plan.fingerprint, folder.name, plan.model, contents)


def files_of(variant: Variant) -> list[str]:
    """The paths of a variant's files in its folder (PlanError)."""
    plan = variant.plan
    found = {PLAN, WEIGHTS} | _files_beside(plan)
    for record in plan.specializations:
        other = variant.specialized(record).plan
        found |= {f"{record.folder}/{name}" for name in {PLAN} | _files_beside(other)}
    return sorted(found)


def _files_beside(plan: Plan) -> set[str]:
    """The files that a plan names."""
    kernels = [kernel.file for kernel in plan.kernels]
    companions = [companion.file for companion in plan.companions]
    return {*kernels, *companions, *(part.file for part in plan.parts)}


def _digest(path: Path) -> File:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PlanError(f"cannot read {path}: {error.strerror}; compile the model again") from error
    return File(len(content), hashlib.sha256(content).hexdigest())


def _present(store: Store, new: Publication) -> Publication | None:
    """What a store holds, if it is the same under the same name, with the same signatures."""
    try:
        found = published(store, new.manifest.fingerprint, new.manifest.variant)
    except PlanError:
        return None  # damaged, so it is replaced
    if found is None or found.manifest != new.manifest:
        return None
    return found if set(new.signatures) <= set(found.signatures) else None


def _is_whole(store: Store, publication: Publication) -> bool:
    try:
        check(store, publication)
    except PlanError:
        return False
    return True
