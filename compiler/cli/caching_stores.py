"""`tflgpu cache` for stores: listing, verifying and pruning a cache at a URL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click
from rich.filesize import decimal

from ...runtime.cache.folder import SHOWN_DIGITS
from ...runtime.remote.housekeeping import problem, prune
from ...runtime.remote.index import Record
from ...runtime.remote.keys import ANYONE, Trusted, fingerprint
from ...runtime.remote.published import Entry, entries, listed
from ...runtime.remote.store import Store
from .printing import count_of, print_json, print_table
from .shell import Failure


def list_store(url: str, as_json: bool) -> None:
    """Print the variants in a store, those published first at the top (StoreError, PlanError)."""
    store = Store(url)
    found = sorted(listed(store), key=lambda record: (record.published, record.path))
    total = sum(record.size for record in found)
    if as_json:
        print_json({"entries": [_record(store, each) for each in found], "bytes": total})
        return
    title = f"{count_of(found)}, {decimal(total)}"
    if not found:
        click.echo(title)
    print_table(
        title,
        ("model", "variant", "size", "published", "signed by", "fingerprint"),
        [
            (
                record.model,
                record.path.partition("/")[2],
                decimal(record.size),
                datetime.fromtimestamp(record.published).strftime("%Y-%m-%d %H:%M"),
                " ".join(map(fingerprint, record.signers)),
                record.path[:SHOWN_DIGITS],
            )
            for record in found
        ],
        right=("size",),
    )


def verify_store(url: str, trust: Sequence[str], as_json: bool) -> None:
    """Check every variant in a store; Failure if one cannot be loaded by who trusts those keys."""
    store, trusted = Store(url), Trusted(trust or ANYONE)
    found = entries(store)
    problems = [problem(store, entry, trusted) for entry in found]
    if as_json:
        checked = [
            {**_entry(store, entry), "problems": [text] if text else []}
            for entry, text in zip(found, problems, strict=True)
        ]
        print_json({"ok": not any(problems), "entries": checked})
    if any(problems):
        raise Failure("\n".join(filter(None, problems)))
    if not as_json:
        click.echo(f"{count_of(found)}, no damage found")


def prune_store(url: str, size: int, as_json: bool) -> None:
    """Remove variants from a store until the rest take at most `size` bytes (StoreError)."""
    store = Store(url)
    removed = prune(store, size)
    left = sum(record.size for record in listed(store))
    if as_json:
        print_json({"removed": [_entry(store, entry) for entry in removed], "bytes": left})
        return
    freed = decimal(sum(entry.size for entry in removed))
    click.echo(f"{count_of(removed)} removed, {freed}; {decimal(left)} left")


def _entry(store: Store, entry: Entry) -> dict[str, Any]:
    """A variant as JSON has it; without a publication, little is known of it."""
    model = entry.publication.manifest.model if entry.publication else ""
    return _listed(store, entry.path, model, entry.size, entry.published)


def _record(store: Store, record: Record) -> dict[str, Any]:
    found = _listed(store, record.path, record.model, record.size, record.published)
    return {**found, "signed_by": list(map(fingerprint, record.signers))}


def _listed(store: Store, path: str, model: str, size: int, published: float) -> dict[str, Any]:
    return {
        "path": store.at(path),
        "model": model,
        "fingerprint": path.partition("/")[0],
        "bytes": size,
        "published": published,
    }
