"""The files of a variant: their sizes and digests, and downloading them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..cache.folder import fingerprint
from ..cache.variant import PLAN
from ..errors import PlanError
from ..plan.file import from_bytes
from ..plan.records import Plan
from .manifest import File, Publication
from .store import Store


def file_of(path: Path) -> File:
    """The size and the digest of a file, which is read in blocks (OSError)."""
    return File(path.stat().st_size, fingerprint(path))


def are_whole(folder: Path, files: Mapping[str, File]) -> bool:
    """Whether a folder holds files just as a manifest says."""
    try:
        return all(file_of(folder / path) == expected for path, expected in files.items())
    except OSError:
        return False


def download(store: Store, publication: Publication, folder: Path) -> None:
    """Copy a variant's files into a folder that has the folders they need.

    PlanError, naming the file, if one is missing, changed, or not of its size.
    """
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
    return from_bytes(content, store.at(path))


def _check(source: str, found: File, expected: File) -> None:
    """PlanError, naming `source`, unless a file is what its manifest says."""
    if found.size != expected.size:
        raise PlanError(
            f"{source} has {found.size} bytes instead of {expected.size}; publish the variant again"
        )
    if found.sha256 != expected.sha256:
        raise PlanError(f"{source} is damaged (its checksum is wrong); publish the variant again")
