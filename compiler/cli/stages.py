"""How far a command is: a progress bar, or a line for each stage."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from time import perf_counter

import click
from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as ProgressBar

from ..telling import Progress, silent
from .shell import asked_for


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress bar on stderr that shows the stage; none if stderr is not a terminal.

    With --verbose, a line for each stage with its time; with --quiet, nothing.
    """
    if asked_for("--verbose"):
        with closing(_Stages()) as stages:
            yield stages.show
        return
    errors = Console(stderr=True)
    if not errors.is_terminal or asked_for("--quiet"):
        yield silent
        return
    columns = (SpinnerColumn(), TextColumn("{task.description:<8}"), BarColumn())
    with ProgressBar(*columns, console=errors, transient=True) as bar:
        task = bar.add_task("start", total=None)

        def show(stage: str, done: int, total: int) -> None:
            bar.update(task, description=stage, completed=done, total=total)

        yield show


class _Stages:
    """Prints each stage and its time when the next one begins."""

    def __init__(self) -> None:
        self._stage, self._began = "", 0.0

    def show(self, stage: str, done: int, total: int) -> None:
        if stage != self._stage:
            self.close()
            self._stage, self._began = stage, perf_counter()

    def close(self) -> None:
        if self._stage:
            click.echo(f"{self._stage}: {perf_counter() - self._began:.3f} s", err=True)
