"""`tflgpu tune`: search for the fastest sizes of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import click

from ..fleet.api import require_dask
from ..fleet.models import find_models
from ..options import Options
from ..sizing.tuning_table import read_table
from ..tools.tune import TABLES
from .compile_options import compile_options, format_options, tolerance_option
from .options import models_argument, output_option, scheduler_option
from .paths import FilePath
from .printing import Answer, Column, Listing, json_option
from .shell import Command, Failure, note
from .stages import progress
from .tuning_search import search_here

TABLE = (
    Column("device", "device", lambda each: each[1].device),
    Column("kernels", "kernels", lambda each: len(each[1].kernels), right=True),
    Column("path", "file", itemgetter(0)),
)


@click.command("tune", cls=Command, short_help="Search for the fastest sizes of kernels.")
@models_argument
@output_option(
    FilePath(), "The cache folder; each device has a table in CACHE/tuning, for --tuning."
)
@compile_options(fallback="litert", several=True)
@format_options
@tolerance_option
@scheduler_option
@json_option
def tune_command(
    models: tuple[Path, ...],
    cache: Path,
    options: list[Options],
    tolerance: float,
    scheduler: str,
) -> None:
    """Search for the fastest tiles and work-groups of the kernels of MODELS.

    The search runs on the attached device or, with --scheduler, on each device of the workers that
    --device names; `auto` names all of them. Kernels that are in a table are not measured again.
    """
    files = find_models(models)
    if scheduler:
        tables, failures = _search_there(files, options, cache, scheduler, tolerance)
    else:
        with progress() as show:
            found = search_here(files, options, cache, tolerance, show)
        if len(found) == 1 and found[0].error:
            raise found[0].error
        failures = [f"{each.model}: {each.error}" for each in found if each.error]
        names = dict.fromkeys(each.options.tuning for each in found)
        tables = [Path(name) for name in names if name]
    read = [(path, read_table(path)) for path in tables]
    Answer({"tables": Listing("Tuning tables", TABLE, read)}).print()
    if failures:
        raise Failure("\n".join([f"{len(failures)} searches failed:", *failures]))


def _search_there(
    models: Sequence[Path],
    options: Sequence[Options],
    cache: Path,
    scheduler: str,
    tolerance: float,
) -> tuple[list[Path], list[str]]:
    """The tables of the devices of a scheduler's workers, and why searches failed."""
    require_dask()
    from ..fleet.scheduled import scheduled
    from ..fleet.tuning import tune_many

    tables, failed = [], []
    with scheduled(scheduler) as found:
        for tuned in tune_many(models, options, cache / TABLES, found, tolerance):
            tables.append(tuned.table)
            if tuned.error:
                failed.append(f"{tuned.model} on {tuned.device}: {tuned.error}")
            else:
                note(f"tuned {tuned.model} on {tuned.device}: {tuned.kernels} kernels so far")
    return list(dict.fromkeys(tables)), failed
