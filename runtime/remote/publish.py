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
from ..store.variant import PLAN, WEIGHTS, read_variant
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
    new = Publication(manifest, new_folder(), int(time.time()))
    if key is not None:
        new = replace(new, signatures=(key.sign(manifest),))
    if not _holds(store, new):
        try:
            store.upload({f"{new.files}/{path}": folder / path for path in manifest.files})
            # Another process may have published the same meanwhile.
            superfluous = _holds(store, new)
            if not superfluous:
                store.replace(f"{manifest.path}/{MANIFEST}", to_bytes(new))
        except BaseException:
            _discard(store, new)
            raise
        if superfluous:
            _discard(store, new)
    return store.at(manifest.path)


def is_intact(store: Store, publication: Publication) -> bool:
    """Whether all files of a published variant are there in their sizes (StoreError)."""
    expected = {path: file.size for path, file in publication.manifest.files.items()}
    return store.sizes(publication.files) == expected


def manifest_of(folder: Path) -> Manifest:
    """The manifest of a variant's folder in a cache (PlanError)."""
    plan = read_variant(folder).plan
    if not (is_fingerprint(plan.fingerprint) and is_variant(folder.name)):
        raise PlanError(f"{folder} is not named as a variant of a cache; compile the model again")
    contents = {path: _digest(folder / path) for path in files_of(plan)}
    return Manifest(plan.fingerprint, folder.name, plan.model, contents)


def files_of(plan: Plan) -> list[str]:
    """The paths of a variant's files in its folder."""
    kernels = [kernel.file for kernel in plan.kernels]
    companions = [companion.file for companion in plan.companions]
    parts = [part.file for part in plan.parts]
    return sorted({PLAN, WEIGHTS, *kernels, *companions, *parts})


def _digest(path: Path) -> File:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PlanError(f"cannot read {path}: {error.strerror}; compile the model again") from error
    return File(len(content), hashlib.sha256(content).hexdigest())


def _holds(store: Store, new: Publication) -> bool:
    """Whether a store holds the same files under the same name, with the same signatures."""
    try:
        present = published(store, new.manifest.fingerprint, new.manifest.variant)
    except PlanError:
        return False  # damaged, so it is replaced
    return (
        present is not None
        and present.manifest == new.manifest
        and set(new.signatures) <= set(present.signatures)
        and is_intact(store, present)
    )


def _discard(store: Store, new: Publication) -> None:
    with suppress(StoreError):
        store.remove(new.files)
