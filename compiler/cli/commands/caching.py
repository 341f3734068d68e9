"""`tflgpu cache`: list, verify and prune a cache, in a folder or at the URL of a store."""

import re
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.filesize import decimal

from ....runtime.cache.folder import SHOWN_DIGITS, is_fingerprint
from ....runtime.cache.housekeeping import Entry, check_empty, entries, problems, prune
from ....runtime.remote import housekeeping, published
from ....runtime.remote.keys import ANYONE, Trusted, fingerprint
from ....runtime.remote.store import Store
from ...user_cache import user_cache
from ..options import CachePlace
from ..printing import Answer, Column, Listing, count_of, json_option, minute, tell
from ..shell import Failure, Program, note

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\Z", re.IGNORECASE)

# A cache: the folder or the URL of a store; by default the folder of the user's own cache.
user_cache_argument = click.argument(
    "cache", metavar="[CACHE]", type=CachePlace(), default=user_cache
)

# Of compiled models in a folder.
ENTRIES = (
    Column("path", value=attrgetter("folder")),
    Column("model", "model", text=lambda entry: entry.model or "(unreadable)"),
    Column(
        "", "variant", text=lambda entry: entry.folder.name + (" (edited)" if entry.edited else "")
    ),
    Column("shapes", "shapes", attrgetter("choices"), right=True),
    Column("binaries", "devices", right=True),
    Column("bytes", "size", attrgetter("size"), lambda entry: decimal(entry.size), right=True),
    Column("edited"),
    Column("used", "last used", text=lambda entry: minute(entry.used)),
    Column(
        "fingerprint",
        "fingerprint",
        lambda entry: entry.folder.parent.name,
        text=lambda entry: entry.folder.parent.name[:SHOWN_DIGITS],
    ),
)

# Of what the index of a store has.
SIGNED = Column(
    "signed_by",
    "signed by",
    lambda record: [*map(fingerprint, record.signers)],
    text=lambda record: " ".join(map(fingerprint, record.signers)),
)


def _columns(store: Store) -> tuple[Column, ...]:
    """Of variants in a store; without a publication, little is known of one."""
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


@click.group(cls=Program, short_help="List, check, prune or clear a cache folder.")
def cache() -> None:
    """List, verify or prune a cache: by default your own, which `tflgpu run MODEL` fills.

    CACHE is a folder, or the URL of a store such as s3://models or sftp://host/models.
    """


T = TypeVar("T")


def _of_store(store: Store, found: Sequence[T]) -> Sequence[T]:
    """What was found in a store (StoreError if nothing was ever published there)."""
    if not found:
        published.check_store(store)
    return found


@cache.command("list")
@user_cache_argument
@json_option
def list_command(cache: Path | str) -> None:
    """List the compiled models in CACHE, least recently used first."""
    columns: Sequence[Column] = ENTRIES
    found: Sequence[Any]
    if isinstance(cache, str):
        store = Store(cache)
        listed = _of_store(store, published.listed(store))
        found = sorted(listed, key=lambda each: (each.published, each.path))
        *first, last = _columns(store)
        columns = (*first, SIGNED, last)
    else:
        found = entries(cache)
    total = sum(entry.size for entry in found)
    title = f"{count_of(found)}, {decimal(total)}"
    Answer({"entries": Listing(title, columns, found, always=True), "bytes": total}).print()


@cache.command(short_help="Check every file in CACHE.")
@user_cache_argument
@click.option(
    "--trust",
    multiple=True,
    metavar="KEY",
    help="For a store: a public key, or its file, one of which must have signed each model.",
)
@json_option
def verify(cache: Path | str, trust: tuple[str, ...]) -> None:
    """Check every file in CACHE; the exit code is 1 if a compiled model cannot be loaded."""
    columns: Sequence[Column] = ENTRIES
    checked: list[tuple[Any, dict[str, list[str]]]]
    if isinstance(cache, str):
        store, trusted = Store(cache), Trusted(trust or ANYONE)
        columns, checked = _columns(store), []
        for entry in _of_store(store, published.entries(store)):
            problem = housekeeping.problem(store, entry, trusted)
            checked.append((entry, {"problems": [problem] if problem else []}))
    elif trust:
        raise click.UsageError("--trust is for stores, given by a URL")
    else:
        names, present = ("problems", "binary_problems"), entries(cache)
        if not present:
            check_empty(cache)
        checked = [(e, dict(zip(names, problems(e), strict=True))) for e in present]
    damaged = [message for _, found in checked for message in found["problems"]]
    described = Listing("", columns, [entry for entry, _ in checked]).objects()
    said = [{**each, **found} for each, (_, found) in zip(described, checked, strict=True)]
    Answer({"ok": not damaged, "entries": said}).print()
    for entry, found in checked:
        if isinstance(entry, Entry) and entry.edited:
            note(f"{entry.folder} is edited: {', '.join(entry.edited)}")
        for message in found.get("binary_problems", ()):
            note(message)
    if damaged:
        raise Failure("\n".join(damaged))
    tell(f"{count_of(checked)}, no damage found")


def _parse_size(context: click.Context, parameter: click.Parameter, value: str) -> int:
    match = _SIZE.match(value.strip())
    if not match:
        raise click.BadParameter(f"{value!r} is not a size such as 500M or 2.5GiB")
    power = "kmgt".index(match[2].lower()) + 1 if match[2] else 0
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


@cache.command("prune")
@user_cache_argument
@click.option(
    "--max-size",
    required=True,
    callback=_parse_size,
    metavar="SIZE",
    help="Size to keep at most, such as 500M or 2GiB; 0 removes everything.",
)
@json_option
def prune_command(cache: Path | str, max_size: int) -> None:
    """Remove the least recently used models until CACHE is small enough.

    Stores do not know what is used: there, the models published first are removed.
    """
    _remove(cache, max_size)


@cache.command(short_help="Remove all compiled models from CACHE.")
@user_cache_argument
@json_option
def clear(cache: Path | str) -> None:
    """Remove all compiled models from CACHE; other files in the folder stay."""
    _remove(cache, 0)


def _remove(cache: Path | str, size: int) -> None:
    columns: Sequence[Column] = ENTRIES
    removed: Sequence[Any]
    if isinstance(cache, str):
        store = Store(cache)
        _of_store(store, [*filter(is_fingerprint, store.names())])
        columns, removed = _columns(store), housekeeping.prune(store, size)
        left, what = sum(record.size for record in published.listed(store)), count_of(removed)
    else:
        removed = prune(cache, size)
        left, what = sum(entry.size for entry in entries(cache)), str(len(removed))
    freed = decimal(sum(entry.size for entry in removed))
    title = f"{what} removed, {freed}; {decimal(left)} left"
    said = {"removed": Listing(title, columns, removed, always=True), "bytes": left}
    Answer(said, [title] if isinstance(cache, str) else None).print()
    if left > size and isinstance(cache, Path):
        note("the rest is being written by other processes")
