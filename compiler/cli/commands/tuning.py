"""`tflgpu tune`: search for the fastest sizes of kernels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from operator import itemgetter
from pathlib import Path

import click

from ....runtime.errors import TflgpuError
from ...errors import ModelError, UnsupportedError
from ...fleet.api import require_dask
from ...fleet.models import find_models
from ...keep_f32 import settle
from ...options import Options
from ...sizing.tuning_table import read_table
from ...telling import Progress
from ...tools.tune import TABLES, Found, table_path, tune
from ..compile_options import compile_options, format_options, tolerance_option
from ..options import FilePath, models_argument, output_option, scheduler_option
from ..printing import Answer, Column, Listing, json_option
from ..shell import Command, Failure, note
from ..stages import progress

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
    models: tuple[Path, ...], cache: Path, options: list[Options], tolerance: float, scheduler: str
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
    from ...fleet.scheduled import scheduled
    from ...fleet.tuning import tune_many

    tables, failed = [], []
    with scheduled(scheduler) as found:
        for tuned in tune_many(models, options, cache / TABLES, found, tolerance):
            tables.append(tuned.table)
            if tuned.error:
                failed.append(f"{tuned.model} on {tuned.device}: {tuned.error}")
            else:
                note(f"tuned {tuned.model} on {tuned.device}: {tuned.kernels} kernels so far")
    return list(dict.fromkeys(tables)), failed


@dataclass(frozen=True)
class Searched:
    """A model for which an attached device was searched."""

    model: Path
    # As settled, with the table that now has the results, or none if there is none yet.
    options: Options
    error: TflgpuError | None  # What is wrong with the model; None if nothing is.


def search_here(
    models: Sequence[Path],
    options: Sequence[Options],
    cache: Path,
    tolerance: float,
    show: Progress,
) -> list[Searched]:
    """Tune each model with each of the options here; one that cannot be compiled stops no other."""
    tables = [Path(each.tuning) if each.tuning else table_path(cache, each) for each in options]
    found = []
    for model in models:
        for each, table in zip(options, tables, strict=True):
            settled, problem = each, None
            try:
                settled = settle(model, each, tolerance, show)
                tune(model, settled, table, show, _tell)
            except (ModelError, UnsupportedError) as error:
                problem = error
            except KeyboardInterrupt:
                note(f"results are stored in {table}; run the command again to continue")
                raise
            used = replace(settled, tuning=str(table) if table.exists() else "")
            found.append(Searched(model, used, problem))
    return found


def _tell(found: Found) -> None:
    """Print what the search has found for a kernel."""
    milliseconds, timing = "as fast as before", found.timing
    if timing is None:
        milliseconds = "no other size runs"
    elif timing.seconds < timing.before:
        before = "" if timing.before == inf else f"{timing.before * 1e3:.3f} ms became "
        milliseconds = f"{before}{timing.seconds * 1e3:.3f} ms"
    left = f", about {found.seconds_left:.0f} s left" if found.done < found.total else ""
    note(f"tuned {found.done} of {found.total}{left}: {found.label}: {milliseconds}")
