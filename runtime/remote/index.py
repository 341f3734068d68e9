"""The index of a store, from which its variants are listed without reading 1,600 manifests.

    <store>/index/<random>.json

It is a ledger. A writer adds a record before it publishes, so whatever is in the store is in the
index; a record whose variant is not there belongs to a process that was killed, or to one that has
not finished.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Annotated

from ..errors import PlanError
from ..typed_json import Form, typed
from .ledger import INDEX, Ledger
from .manifest import Digest, Publication, Time, is_path
from .stamps import UNFINISHED
from .store import Store

FORMAT = 1


@dataclass(frozen=True)
class Record:
    """What the index says about a variant. It is not signed: good for lists, not for trust."""

    # Its folder in the store: <model fingerprint>/<variant>.
    path: Annotated[str, Form("variant", is_path)]
    model: str
    size: Annotated[int, Form("number of bytes", lambda size: size >= 0)]  # Of its files.
    published: Time  # When it was put into the store (Unix time).
    signers: tuple[Digest, ...] = ()  # The public keys of its signatures, hexadecimal.


def record_of(publication: Publication) -> Record:
    manifest = publication.manifest
    signers = tuple(signature.key for signature in publication.signatures)
    return Record(manifest.path, manifest.model, manifest.size, publication.published, signers)


def records(store: Store) -> list[Record]:
    """The variants in a store's index, sorted by path (PlanError if damaged, StoreError)."""
    return _merged(Ledger(store, INDEX).contents())


def add(store: Store, record: Record) -> str:
    """Add a variant that is about to be published; returns the path of its file (StoreError)."""
    ledger = Ledger(store, INDEX)
    is_long = ledger.is_long()
    path = ledger.add(_to_bytes([record]))
    if is_long:
        # The variant can be published all the same.
        with suppress(PlanError):
            rewrite(store)
    return path


def rewrite(
    store: Store, known: Sequence[Record] = (), keep: Callable[[Record], bool] = lambda record: True
) -> None:
    """Replace the files of an index by one with known records and with those that are to be kept.

    Of several records of a variant, the newest one is kept. PlanError if the index is damaged,
    StoreError if the store cannot be written.
    """

    def merged(contents: Mapping[str, bytes]) -> bytes:
        return _to_bytes(_newest([*filter(keep, _merged(contents)), *known]))

    Ledger(store, INDEX).rewrite(merged)


def is_unfinished(record: Record) -> bool:
    """Whether a variant that is not there may be one that is just being published."""
    return time.time() - record.published < UNFINISHED


def _to_bytes(found: Sequence[Record]) -> bytes:
    content = {"format": FORMAT, "variants": [asdict(record) for record in found]}
    return json.dumps(content, indent=1).encode() + b"\n"


def _parsed(content: bytes, source: str) -> list[Record]:
    try:
        found = json.loads(content)
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']!r} instead of {FORMAT}")
        return [typed(Record, item) for item in found["variants"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PlanError(f"{source} is damaged ({error}); remove the file") from error


def _merged(contents: Mapping[str, bytes]) -> list[Record]:
    """One record for each variant, the newest (PlanError)."""
    return _newest(
        [record for source, content in contents.items() for record in _parsed(content, source)]
    )


def _newest(found: Sequence[Record]) -> list[Record]:
    """Of the records of each variant the newest, the last one of those that are of equal age."""
    newest = {record.path: record for record in sorted(found, key=lambda each: each.published)}
    return [newest[path] for path in sorted(newest)]
