"""The search of `tflgpu tune` and `tflgpu compile --tune` on attached devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path

from ...runtime.errors import TflgpuError
from ..errors import ModelError, UnsupportedError
from ..keep_f32 import settle
from ..options import Options
from ..progress import Progress
from ..tools.tune import Found, table_path, tune
from .shell import note


@dataclass(frozen=True)
class Searched:
    """A model for which an attached device was searched."""

    model: Path
    options: Options
    """As settled, with the table that now has the results, or none if there is none yet."""
    error: TflgpuError | None
    """What is wrong with the model; None if nothing is."""


def search_here(
    models: Sequence[Path],
    options: Sequence[Options],
    cache: Path,
    tolerance: float,
    show: Progress,
) -> list[Searched]:
    """Tune models on attached devices, each with each of the options.

    A model that cannot be compiled stops no other.
    """
    tables = [Path(each.tuning) if each.tuning else table_path(cache, each) for each in options]
    found = []
    for model in models:
        for each, table in zip(options, tables, strict=True):
            settled, problem = each, None
            try:
                with _resumable(table):
                    settled = settle(model, each, tolerance, show)
                    tune(model, settled, table, show, _tell)
            except (ModelError, UnsupportedError) as error:
                problem = error
            used = replace(settled, tuning=str(table) if table.exists() else "")
            found.append(Searched(model, used, problem))
    return found


@contextmanager
def _resumable(table: Path) -> Iterator[None]:
    """Say where a search that is interrupted has left its results."""
    try:
        yield
    except KeyboardInterrupt:
        note(f"results are stored in {table}; run the command again to continue")
        raise


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
