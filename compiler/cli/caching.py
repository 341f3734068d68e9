"""`tflgpu cache`: list, verify and prune a cache."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.filesize import decimal

from ...runtime.cache.folder import SHOWN_DIGITS
from ...runtime.cache.housekeeping import Entry, entries, problems, prune
from ..user_cache import user_cache
from . import caching_stores as stores
from .paths import CachePlace
from .printing import count_of, json_option, print_json, print_table
from .shell import Failure, Program, note

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\Z", re.IGNORECASE)

user_cache_argument = click.argument(
    "cache", metavar="[CACHE]", type=CachePlace(), default=user_cache
)
"""A cache: the folder or the URL of a store; by default the folder of the user's own cache."""


@click.group(cls=Program, short_help="List, check, prune or clear a cache folder.")
def cache() -> None:
    """List, verify or prune a cache: by default your own, which `tflgpu run MODEL` fills.

    CACHE is a folder, or the URL of a store such as s3://models or sftp://host/models.
    """


@cache.command("list")
@user_cache_argument
@json_option
def list_command(cache: Path | str, as_json: bool) -> None:
    """List the compiled models in CACHE, least recently used first."""
    if isinstance(cache, str):
        stores.list_store(cache, as_json)
        return
    found = entries(cache)
    total = sum(entry.size for entry in found)
    if as_json:
        print_json({"entries": [_as_dict(entry) for entry in found], "bytes": total})
        return
    _print_entries(f"{count_of(found)}, {decimal(total)}", found)


@cache.command()
@user_cache_argument
@click.option(
    "--trust",
    multiple=True,
    metavar="KEY",
    help="For a store: a public key, or its file, one of which must have signed each model.",
)
@json_option
def verify(cache: Path | str, trust: tuple[str, ...], as_json: bool) -> None:
    """Check every file in CACHE; the exit code is 1 if a compiled model cannot be loaded."""
    if isinstance(cache, str):
        stores.verify_store(cache, trust, as_json)
        return
    if trust:
        raise click.UsageError("--trust is for stores, given by a URL")
    checked = [(entry, *problems(entry)) for entry in entries(cache)]
    damaged = [message for _, fatal, _ in checked for message in fatal]
    if as_json:
        print_json(
            {
                "ok": not damaged,
                "entries": [
                    {**_as_dict(entry), "problems": fatal, "binary_problems": binaries}
                    for entry, fatal, binaries in checked
                ],
            }
        )
    for entry, _, binaries in checked:
        if entry.edited:
            note(f"{entry.folder} is edited: {', '.join(entry.edited)}")
        for message in binaries:
            note(message)
    if damaged:
        raise Failure("\n".join(damaged))
    if not as_json:
        click.echo(f"{count_of(checked)}, no damage found")


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
def prune_command(cache: Path | str, max_size: int, as_json: bool) -> None:
    """Remove the least recently used models until CACHE is small enough.

    Stores do not know what is used: there, the models published first are removed.
    """
    _remove(cache, max_size, as_json)


@cache.command()
@user_cache_argument
@json_option
def clear(cache: Path | str, as_json: bool) -> None:
    """Remove all compiled models from CACHE; other files in the folder stay."""
    _remove(cache, 0, as_json)


def _remove(cache: Path | str, size: int, as_json: bool) -> None:
    if isinstance(cache, str):
        stores.prune_store(cache, size, as_json)
        return
    removed = prune(cache, size)
    left = sum(entry.size for entry in entries(cache))
    if as_json:
        print_json({"removed": [_as_dict(entry) for entry in removed], "bytes": left})
        return
    freed = decimal(sum(entry.size for entry in removed))
    _print_entries(f"{len(removed)} removed, {freed}; {decimal(left)} left", removed)
    if left > size:
        note("the rest is being written by other processes")


def _print_entries(title: str, found: list[Entry]) -> None:
    if not found:
        click.echo(title)
    print_table(
        title,
        ("model", "variant", "shapes", "devices", "size", "last used", "fingerprint"),
        [
            (
                entry.model or "(damaged)",
                entry.folder.name + (" (edited)" if entry.edited else ""),
                entry.choices,
                entry.binaries,
                decimal(entry.size),
                datetime.fromtimestamp(entry.used).strftime("%Y-%m-%d %H:%M"),
                entry.folder.parent.name[:SHOWN_DIGITS],
            )
            for entry in found
        ],
        right=("shapes", "devices", "size"),
    )


def _as_dict(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.folder,
        "model": entry.model,
        "fingerprint": entry.folder.parent.name,
        "bytes": entry.size,
        "shapes": entry.choices,
        "binaries": entry.binaries,
        "edited": entry.edited,
        "used": entry.used,
    }
