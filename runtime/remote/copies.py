"""The copies of fetched variants, from which they are loaded.

    <user's cache>/stores/<digest of the store's URL>/<model fingerprint>/<variant>.<digest>/

The second digest is that of the manifest, which names the digest of every file. So a folder never
becomes that of another variant: what one process has found signed, none replaces by what is not.
The manifest is kept beside the plan, so that copies can be found, and their signatures checked,
while the store cannot be reached.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..cache.folder import meant_models, variant_folder
from ..cache.private_files import check_private, read_file
from ..errors import PlanError
from .files import are_whole
from .manifest import MANIFEST, Publication, from_bytes, signed_bytes
from .published import Address
from .store import LARGEST_TEXT
from .url import without_password


def copies_of(store: str) -> Path:
    """Where the variants fetched from a store are kept, given its URL."""
    from platformdirs import user_cache_path

    name = hashlib.sha256(without_password(store).encode()).hexdigest()[:16]
    return user_cache_path("tflgpu") / "stores" / name


def folder_of(copies: Path, publication: Publication) -> Path:
    """The folder of a variant's copy, whether or not it exists."""
    manifest = publication.manifest
    digest = hashlib.sha256(signed_bytes(manifest)).hexdigest()[:32]
    return variant_folder(copies, manifest.fingerprint, f"{manifest.variant}.{digest}")


def is_copy(folder: Path, publication: Publication) -> bool:
    """Whether a folder holds all files of a variant, undamaged."""
    try:
        check_private(folder)
    except PlanError:
        return False
    return are_whole(folder, publication.manifest.files)


def copied(copies: Path, where: Address, model: str | os.PathLike[str] | None) -> list[Publication]:
    """The manifests of a model's variants that were fetched before, the newest first.

    None if they are of several models that may be meant. Files and signatures are not checked.
    """
    found = []
    for path in copies.glob(f"*/*/{MANIFEST}"):
        try:
            publication = from_bytes(read_file(path, LARGEST_TEXT), str(path))
        except PlanError:
            continue
        manifest = publication.manifest
        asked = where.fingerprint in ("", manifest.fingerprint)
        asked = asked and where.variant in ("", manifest.variant)
        if asked and path.parent == folder_of(copies, publication):
            found.append(publication)
    names = {each.manifest.fingerprint: each.manifest.model for each in found}
    meant = list(names) if model is None else meant_models(names, model, names.__getitem__)
    if len(meant) != 1:
        return []
    of_model = [each for each in found if each.manifest.fingerprint == meant[0]]
    return sorted(of_model, key=lambda each: each.published, reverse=True)
