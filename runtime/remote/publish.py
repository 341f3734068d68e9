"""Putting a compiled variant into a store, whole or not at all."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..cache.folder import is_fingerprint
from ..cache.variant import PLAN, WEIGHTS, Variant, originals, read_variant
from ..errors import PlanError, StoreError
from ..plan.records import Plan
from .copies import check, file_of
from .index import add, record_of
from .manifest import MANIFEST, Manifest, Publication, is_time, is_variant, to_bytes
from .published import published
from .stamps import new_folder
from .store import Store

if TYPE_CHECKING:
    from .keys import SigningKey


def publish(folder: Path, store: Store, key: SigningKey | None = None) -> str:
    """Put a variant's folder into a store, signed if there is a key; returns its URL.

    A variant with the same files is left alone but for the signature, which is added to those that
    it has; any other of its name is replaced. It appears complete or not at all, even if several
    processes write it at once. The driver's binaries are not published: they are of use to one
    device.

    PlanError if the folder is not that of a whole variant, StoreError if the store cannot be
    written.
    """
    store.check_writable()
    manifest = manifest_of(folder)
    new = Publication(manifest, new_folder(), _now())
    if key is not None:
        new = key.add_to(new)
    present = _present(store, manifest)
    if present is None or not _is_whole(store, present):
        present = _write(store, folder, new, present)
    if key is not None and not key.signed(present):
        signed = key.add_to(replace(present, published=new.published))
        add(store, record_of(signed))
        _replace_manifest(store, signed, new.files)
        store.remove_if_empty(new.files)
        if not is_intact(store, signed):
            # It has been pruned meanwhile.
            _write(store, folder, new, signed)
    return store.at(manifest.path)


def _now() -> float:
    """The Unix time (StoreError if the clock is so wrong that no reader would take it)."""
    now = time.time()
    if not is_time(now):
        raise StoreError(f"the clock of this machine must be set: {now} is not a Unix time")
    return now


def _write(store: Store, folder: Path, new: Publication, before: Publication | None) -> Publication:
    """Publish a variant, instead of a damaged one if any; returns what is then in the store."""
    manifest = new.manifest
    written = [new.files]
    try:
        store.upload({f"{new.files}/{path}": folder / path for path in manifest.files})
        present = _present(store, manifest)
        if present is not None and present != before:
            return present  # another process has published the same meanwhile
        written.append(add(store, record_of(new)))
        # From here on the manifest may be there, even if it seems that it was not written.
        written.clear()
        _replace_manifest(store, new, new.files)
        return new
    finally:
        for path in written:
            with suppress(StoreError):
                store.remove(path)


def _replace_manifest(store: Store, new: Publication, temporary: str) -> None:
    """Write a manifest by way of a folder that `prune` removes if this process is killed."""
    store.replace(f"{new.manifest.path}/{MANIFEST}", to_bytes(new), f"{temporary}/{MANIFEST}")


def is_intact(store: Store, publication: Publication) -> bool:
    """Whether all files of a published variant are there in their sizes, without reading them."""
    expected = {
        f"{publication.files}/{path}": file.size
        for path, file in publication.manifest.files.items()
    }
    return store.sizes(expected) == expected


def manifest_of(folder: Path) -> Manifest:
    """The manifest of a variant's folder in a cache (PlanError)."""
    variant = read_variant(folder)
    plan = variant.plan
    if not (is_fingerprint(plan.fingerprint) and is_variant(folder.name)):
        raise PlanError(f"{folder} is not named as a variant of a cache; compile the model again")
    try:
        contents = {path: file_of(folder / path) for path in files_of(variant)}
    except OSError as error:
        reason = f"{error.strerror}; compile the model again"
        raise PlanError(f"cannot read {error.filename}: {reason}") from error
    return Manifest(plan.fingerprint, folder.name, plan.model, contents)


def files_of(variant: Variant) -> list[str]:
    """The paths of a variant's files in its folder (PlanError)."""
    plan = variant.plan
    found = {PLAN, WEIGHTS} | _files_beside(plan) | originals(variant)
    for record in plan.specializations:
        other = variant.specialized(record).plan
        found |= {f"{record.folder}/{name}" for name in {PLAN} | _files_beside(other)}
    return sorted(found)


def _files_beside(plan: Plan) -> set[str]:
    kernels = [kernel.file for kernel in plan.kernels]
    companions = [companion.file for companion in plan.companions]
    return {*kernels, *companions, *(part.file for part in plan.parts)}


def _present(store: Store, manifest: Manifest) -> Publication | None:
    """What a store holds, if it is the same under the same name, whoever signed it."""
    try:
        found = published(store, manifest.fingerprint, manifest.variant)
    except PlanError:
        return None  # damaged, so it is replaced
    return found if found is not None and found.manifest == manifest else None


def _is_whole(store: Store, publication: Publication) -> bool:
    try:
        check(store, publication)
    except PlanError:
        return False
    return True
