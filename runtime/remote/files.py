"""The files of a published variant, downloaded and checked."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from ..errors import PlanError
from ..plan.file import from_bytes
from ..plan.records import Plan
from ..store.variant import PLAN
from .manifest import File, Publication
from .store import Store


def download(store: Store, publication: Publication, folder: Path) -> None:
    """Copy a variant's files into a folder that has the folders they need.

    PlanError, naming the file, if one is missing, short or changed.
    """
    files = publication.manifest.files
    missing = store.download({f"{publication.files}/{path}": folder / path for path in files})
    if missing:
        raise PlanError(f"{store.at(missing[0])} is missing; publish the variant again")
    for path, expected in files.items():
        _check(store.at(f"{publication.files}/{path}"), (folder / path).read_bytes(), expected)


def check(store: Store, publication: Publication) -> None:
    """Read all files of a variant; PlanError, naming the file, if one is missing or changed."""
    with tempfile.TemporaryDirectory(prefix="tflgpu-") as temporary:
        for path in publication.manifest.files:
            (Path(temporary) / path).parent.mkdir(parents=True, exist_ok=True)
        download(store, publication, Path(temporary))


def read_plan(store: Store, publication: Publication) -> Plan:
    """The plan of a variant (PlanError if it is missing or changed)."""
    path = f"{publication.files}/{PLAN}"
    content = store.read(path)
    if content is None:
        raise PlanError(f"{store.at(path)} is missing; publish the variant again")
    _check(store.at(path), content, publication.manifest.files[PLAN])
    return from_bytes(content, store.at(path))


def _check(source: str, content: bytes, expected: File) -> None:
    """PlanError, naming `source`, unless a file is what its manifest says."""
    if len(content) != expected.size:
        raise PlanError(
            f"{source} has {len(content)} bytes instead of {expected.size}; publish the variant "
            f"again"
        )
    if hashlib.sha256(content).hexdigest() != expected.sha256:
        raise PlanError(f"{source} is damaged (its checksum is wrong); publish the variant again")
