"""Downloading variants, and the copies of them from which they are loaded.

    <user's cache>/stores/<digest of the store's URL>/<model fingerprint>/<variant>.<digest>/

The second digest is that of the manifest, which names the digest of every file. So a folder never
becomes that of another variant: what one process has found signed, none replaces by what is not.
The manifest is kept beside the plan, so that copies can be found, and their signatures checked,
while the store cannot be reached.
"""

import hashlib
import tempfile
from pathlib import Path

from ..cache.folder import fingerprint, meant_models, variant_folder
from ..cache.private_files import check_private, read_file
from ..cache.variant import PLAN
from ..errors import PlanError
from ..plan import file as plan_file
from ..plan.records import Plan
from .manifest import MANIFEST, File, Publication, from_bytes, signed_bytes
from .published import Address
from .store import LARGEST_TEXT, Store
from .url import without_password


def file_of(path: Path) -> File:
    """The size and the digest of a file, which is read in blocks (OSError)."""
    return File(path.stat().st_size, fingerprint(path))


def download(store: Store, publication: Publication, folder: Path) -> None:
    """Copy a variant's files into a folder with the folders they need (PlanError)."""
    files = publication.manifest.files
    store.download(
        {f"{publication.files}/{path}": (folder / path, file.size) for path, file in files.items()}
    )
    for path, expected in files.items():
        _check(store.at(f"{publication.files}/{path}"), file_of(folder / path), expected)


def check(store: Store, publication: Publication) -> None:
    """Read all files of a variant; PlanError, naming the file, if one is missing or changed."""
    with tempfile.TemporaryDirectory(prefix="tflgpu-") as temporary:
        for path in publication.manifest.files:
            (Path(temporary) / path).parent.mkdir(parents=True, exist_ok=True)
        download(store, publication, Path(temporary))


def read_plan(store: Store, publication: Publication) -> Plan:
    """The plan of a variant (PlanError if it is missing or changed)."""
    path = f"{publication.files}/{PLAN}"
    expected = publication.manifest.files[PLAN]
    content = store.read(path, expected.size)
    if content is None:
        raise PlanError(f"{store.at(path)} is missing; publish the variant again")
    found = File(len(content), hashlib.sha256(content).hexdigest())
    _check(store.at(path), found, expected)
    return plan_file.from_bytes(content, store.at(path))


def _check(source: str, found: File, expected: File) -> None:
    """PlanError, naming `source`, unless a file is what its manifest says."""
    if found.size != expected.size:
        raise PlanError(
            f"{source} has {found.size} bytes instead of {expected.size}; publish the variant again"
        )
    if found.sha256 != expected.sha256:
        raise PlanError(f"{source} is damaged (its checksum is wrong); publish the variant again")


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
    files = publication.manifest.files
    try:
        check_private(folder)
        return all(file_of(folder / path) == expected for path, expected in files.items())
    except (PlanError, OSError):
        return False


def copied(copies: Path, where: Address) -> list[Publication]:
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
    meant = list(names)
    if where.model is not None:
        meant = meant_models(names, where.model, names.__getitem__)
    if len(meant) != 1:
        return []
    of_model = [each for each in found if each.manifest.fingerprint == meant[0]]
    return sorted(of_model, key=lambda each: each.published, reverse=True)
