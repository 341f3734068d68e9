"""`tflgpu cache` for stores: listing, verifying and pruning a cache at a URL."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from rich.filesize import decimal

from ...runtime.cache.folder import SHOWN_DIGITS
from ...runtime.remote.housekeeping import problem, prune
from ...runtime.remote.keys import ANYONE, Trusted, fingerprint
from ...runtime.remote.published import Entry, entries, listed
from ...runtime.remote.store import Store
from .printing import Answer, Column, Listing, count_of, minute, tell
from .shell import Failure


def list_store(url: str) -> None:
    """Print the variants in a store, those published first at the top (StoreError, PlanError)."""
    store = Store(url)
    found = sorted(listed(store), key=lambda record: (record.published, record.path))
    total = sum(record.size for record in found)
    signed = Column(
        "signed_by",
        "signed by",
        lambda record: [*map(fingerprint, record.signers)],
        text=lambda record: " ".join(map(fingerprint, record.signers)),
    )
    *columns, last = _columns(store)
    title = f"{count_of(found)}, {decimal(total)}"
    said = Listing(title, (*columns, signed, last), found, always=True)
    Answer({"entries": said, "bytes": total}).print()


def verify_store(url: str, trust: Sequence[str]) -> None:
    """Check every variant in a store; Failure if one cannot be loaded by who trusts those keys."""
    store, trusted = Store(url), Trusted(trust or ANYONE)
    found = entries(store)
    problems = [problem(store, entry, trusted) for entry in found]
    checked = [
        {**described, "problems": [text] if text else []}
        for described, text in zip(_objects(store, found), problems, strict=True)
    ]
    Answer({"ok": not any(problems), "entries": checked}).print()
    if any(problems):
        raise Failure("\n".join(filter(None, problems)))
    tell(f"{count_of(found)}, no damage found")


def prune_store(url: str, size: int) -> None:
    """Remove variants from a store until the rest take at most `size` bytes (StoreError)."""
    store = Store(url)
    removed = prune(store, size)
    left = sum(record.size for record in listed(store))
    freed = decimal(sum(entry.size for entry in removed))
    text = f"{count_of(removed)} removed, {freed}; {decimal(left)} left"
    Answer({"removed": _objects(store, removed), "bytes": left}, [text]).print()


def _objects(store: Store, found: Sequence[Entry]) -> list[dict[str, Any]]:
    """Variants for JSON; without a publication, little is known of one."""
    return Listing("", _columns(store), found).objects()


def _columns(store: Store) -> tuple[Column, ...]:
    return (
        Column("path", value=lambda each: store.at(each.path)),
        Column("model", "model"),
        Column("", "variant", text=lambda each: each.path.partition("/")[2]),
        Column("bytes", "size", attrgetter("size"), lambda each: decimal(each.size), right=True),
        Column("published", "published", text=lambda each: minute(each.published)),
        Column(
            "fingerprint",
            "fingerprint",
            lambda each: each.path.partition("/")[0],
            text=lambda each: each.path[:SHOWN_DIGITS],
        ),
    )
