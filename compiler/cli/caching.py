"""`tflgpu cache`: list, verify and prune a cache."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.filesize import decimal

from ...runtime.store.cache import SHOWN_DIGITS
from ...runtime.store.housekeeping import Entry, entries, problems, prune
from ..user_cache import user_cache
from .shell import Failure, FilePath, Program, json_option, note, print_json, print_table

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\Z", re.IGNORECASE)

user_cache_argument = click.argument(
    "cache", metavar="[CACHE]", type=FilePath(), default=user_cache
)
"""A cache folder; by default the user's own, in which `tflgpu run MODEL` keeps models."""


@click.group(cls=Program, short_help="List, check, prune or clear a cache folder.")
def cache() -> None:
    """List, verify or prune a cache folder: by default your own, which `tflgpu run MODEL` fills."""


@cache.command("list")
@user_cache_argument
@json_option
def list_command(cache: Path, as_json: bool) -> None:
    """List the compiled models in CACHE, least recently used first."""
    found = entries(cache)
    total = sum(entry.size for entry in found)
    if as_json:
        print_json({"entries": [_as_dict(entry) for entry in found], "bytes": total})
        return
    _print_entries(f"{_count(found)}, {decimal(total)}", found)


@cache.command()
@user_cache_argument
@json_option
def verify(cache: Path, as_json: bool) -> None:
    """Check every file in CACHE; the exit code is 1 if a compiled model cannot be loaded."""
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
        click.echo(f"{_count(checked)}, no damage found")


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
def prune_command(cache: Path, max_size: int, as_json: bool) -> None:
    """Remove the least recently used models until CACHE is small enough."""
    _remove(cache, max_size, as_json)


@cache.command()
@user_cache_argument
@json_option
def clear(cache: Path, as_json: bool) -> None:
    """Remove all compiled models from CACHE; other files in the folder stay."""
    _remove(cache, 0, as_json)


def _remove(cache: Path, size: int, as_json: bool) -> None:
    removed = prune(cache, size)
    left = sum(entry.size for entry in entries(cache))
    if as_json:
        print_json({"removed": [_as_dict(entry) for entry in removed], "bytes": left})
        return
    freed = decimal(sum(entry.size for entry in removed))
    _print_entries(f"{len(removed)} removed, {freed}; {decimal(left)} left", removed)
    if left > size:
        note("the rest is being written by other processes")


def _count(found: Sequence[object]) -> str:
    return f"{len(found)} compiled model{'s' * (len(found) != 1)}"


def _print_entries(title: str, found: list[Entry]) -> None:
    if not found:
        click.echo(title)
    print_table(
        title,
        ("model", "variant", "devices", "size", "last used", "fingerprint"),
        [
            (
                entry.model or "(damaged)",
                entry.folder.name + (" (edited)" if entry.edited else ""),
                entry.binaries,
                decimal(entry.size),
                datetime.fromtimestamp(entry.used).strftime("%Y-%m-%d %H:%M"),
                entry.folder.parent.name[:SHOWN_DIGITS],
            )
            for entry in found
        ],
        right=("devices", "size"),
    )


def _as_dict(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.folder,
        "model": entry.model,
        "fingerprint": entry.folder.parent.name,
        "bytes": entry.size,
        "binaries": entry.binaries,
        "edited": entry.edited,
        "used": entry.used,
    }
