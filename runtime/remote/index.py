"""The index of a store, from which its variants are listed without reading 1,600 manifests.

    <store>/index/<random>.json

Each file has records of variants. A writer adds a file before it publishes, so whatever is in the
store is in the index; a record whose variant is not there belongs to a process that was killed, or
to one that has not finished. When there are many files, they are replaced by one that has all of
their records, which is written before the others are removed. No step needs a lock.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from secrets import token_hex
from typing import Any

from ..errors import PlanError, StoreError
from ..store.cache import is_fingerprint
from .manifest import Publication, is_path, seconds
from .stamps import UNFINISHED
from .store import Store

INDEX = "index"
FORMAT = 1
FILES = 32
"""How many files of an index are left side by side."""
ATTEMPTS = 5
"""How often to read an index that other processes rewrite."""

_NAME = re.compile(r"[0-9a-f]{16}\.json\Z")


@dataclass(frozen=True)
class Record:
    """What the index says about a variant. It is not signed: good for lists, not for trust."""

    path: str
    """Its folder in the store: <model fingerprint>/<variant>."""
    model: str
    """The model file's name."""
    size: int
    """Bytes of its files."""
    published: float
    """When it was put into the store (Unix time)."""
    signers: tuple[str, ...] = ()
    """The public keys of its signatures, hexadecimal."""


def record_of(publication: Publication) -> Record:
    """The record of a variant."""
    manifest = publication.manifest
    signers = tuple(signature.key for signature in publication.signatures)
    return Record(manifest.path, manifest.model, manifest.size, publication.published, signers)


def records(store: Store) -> list[Record]:
    """The variants in a store as its index has them, sorted by path.

    PlanError if the index is damaged, StoreError if the store cannot be read.
    """
    for _ in range(ATTEMPTS):
        files = _files(store)
        contents = _contents(store, files)
        # If a file has gone, its records are in one that was not there yet.
        if len(contents) == len(files):
            return _merged(contents)
    raise StoreError(f"other processes keep replacing {store.at(INDEX)}; try again")


def add(store: Store, record: Record) -> str:
    """Add a variant that is about to be published; returns the path of its file (StoreError)."""
    files = _files(store)
    path = _write(store, [record])
    if len(files) >= FILES:
        # The variant can be published all the same.
        with suppress(PlanError):
            rewrite(store)
    return path


def rewrite(
    store: Store,
    known: Sequence[Record] = (),
    keep: Callable[[Record], bool] = lambda record: True,
) -> None:
    """Replace the files of an index by one with known records and with those that are to be kept.

    Of several records of a variant, the newest one is kept. PlanError if the index is damaged,
    StoreError if the store cannot be written.
    """
    files = _files(store)
    kept = filter(keep, _merged(_contents(store, files)))
    _write(store, _newest([*kept, *known]))
    store.each(store.remove, files)


def is_unfinished(record: Record) -> bool:
    """Whether a variant that is not there may be one that is just being published."""
    return time.time() - record.published < UNFINISHED


def _files(store: Store) -> list[str]:
    return [f"{INDEX}/{name}" for name in store.names(INDEX) if _NAME.match(name)]


def _write(store: Store, found: Sequence[Record]) -> str:
    path = f"{INDEX}/{token_hex(8)}.json"
    content = {"format": FORMAT, "variants": [asdict(record) for record in found]}
    store.replace(path, json.dumps(content, indent=1).encode() + b"\n")
    return path


def _contents(store: Store, files: Sequence[str]) -> dict[str, bytes]:
    """The content of those files that are there, by their URL."""
    contents = store.each(store.read, files)
    return {
        store.at(path): content
        for path, content in zip(files, contents, strict=True)
        if content is not None
    }


def _parsed(content: bytes, source: str) -> list[Record]:
    try:
        found = json.loads(content)
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']!r} instead of {FORMAT}")
        return [_record(item) for item in found["variants"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PlanError(f"{source} is damaged ({error}); remove the file") from error


def _record(item: Mapping[str, Any]) -> Record:
    published, signers = seconds(item["published"]), tuple(item["signers"])
    record = Record(item["path"], item["model"], item["size"], published, signers)
    size_is_one = type(record.size) is int and record.size >= 0
    if not (isinstance(record.model, str) and size_is_one and all(map(is_fingerprint, signers))):
        raise TypeError("a record has a wrong type")
    if not is_path(record.path):
        raise ValueError(f"{record.path!r} is not a variant")
    return record


def _merged(contents: Mapping[str, bytes]) -> list[Record]:
    """One record for each variant, the newest (PlanError)."""
    return _newest(
        [record for source, content in contents.items() for record in _parsed(content, source)]
    )


def _newest(found: Sequence[Record]) -> list[Record]:
    """Of the records of each variant the newest, the last one of those that are of equal age."""
    newest = {record.path: record for record in sorted(found, key=lambda each: each.published)}
    return [newest[path] for path in sorted(newest)]
