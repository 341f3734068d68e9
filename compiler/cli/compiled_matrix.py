"""What `tflgpu compile` shows of several compilations: a count while they run, and a table."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import count
from time import perf_counter

import click
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from ..fleet.result import Result
from ..fleet.tasks import Task
from .printing import Answer, Column, Listing
from .shell import Failure, asked_for


def _column(result: Result) -> str:
    row = result.row
    return f"{row.target}-{row.precision}-{row.profile}"


RESULTS = (
    Column("", "model", text=lambda result: result.task.model.name),
    Column("", "variant", text=lambda result: result.variant or _column(result)),
    Column("status", "status"),
    Column("", "findings", text=lambda result: len(result.findings) or "", right=True),
    Column("seconds", "seconds", text="{:.2f}", right=True),
    Column("", "size", text=lambda result: decimal(result.bytes), right=True),
)

Count = Callable[[Result], None]  # Called with each result as it comes.


@contextmanager
def counted(total: int) -> Iterator[Count]:
    """A bar on stderr with counts and the time left; none if stderr is not a terminal or for 0.

    With --verbose, a line for each result, with the time left if the rest takes as long; with
    --quiet, nothing.
    """
    errors = Console(stderr=True)
    if not total or asked_for("--quiet"):
        yield lambda result: None
    elif asked_for("--verbose"):
        began, numbers = perf_counter(), count(1)

        def tell(result: Result) -> None:
            done = next(numbers)
            left = (perf_counter() - began) / done * (total - done)
            click.echo(
                f"{done} of {total}, about {left:.0f} s left: {_label(result)}: {result.status}",
                err=True,
            )

        yield tell
    elif not errors.is_terminal:
        yield lambda result: None
    else:
        columns = (
            *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()),
            *(TextColumn("{task.fields[failed]}"), TimeRemainingColumn()),
        )
        with ProgressBar(*columns, console=errors, transient=True) as bar:
            task, failed = bar.add_task("compile", total=total, failed=""), 0

            def show(result: Result) -> None:
                nonlocal failed
                failed += result.status == "failed"
                bar.update(task, advance=1, failed=f"{failed} failed" if failed else "")

            yield show


def print_matrix(
    results: Sequence[Result], manifest: str, unbuilt: Mapping[Task, Exception]
) -> None:
    """Print results, as a table or as JSON; Failure if any of them failed.

    `manifest` is the path or URL of the rows; `unbuilt` has the reasons why a
    driver could not compile the kernels of a task.
    """
    variants = [
        {**asdict(result.row), "path": result.path, **(result.report or {})} for result in results
    ]
    statuses = Counter(result.status for result in results)
    title = ", ".join(f"{number} {status}" for status, number in sorted(statuses.items()))
    Answer({"manifest": manifest, "variants": variants}, [Listing(title, RESULTS, results)]).print()
    failures = [f"{_label(result)}: {result.row.error}" for result in results if result.error]
    if failures:
        failures.insert(0, f"{len(failures)} of {len(results)} compilations failed:")
    if unbuilt:
        failures.append(f"kernels of {len(unbuilt)} variants cannot be compiled by the driver:")
        failures += [
            f"{_label(result)}: {unbuilt[result.task]}"
            for result in results
            if result.task in unbuilt
        ]
    if failures:
        raise Failure("\n".join(failures))


def _label(result: Result) -> str:
    return f"{result.task.model} for {_column(result)}"
