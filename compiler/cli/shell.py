"""What all commands share: printing, progress bars and error reports."""

from __future__ import annotations

import errno
import io
import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from signal import SIG_DFL, SIGTERM, default_int_handler, getsignal, signal
from threading import current_thread, main_thread
from time import perf_counter
from typing import IO, Any
from warnings import catch_warnings

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as ProgressBar
from rich.table import Table

from ...runtime.errors import TflgpuError
from ...runtime.plan.records import HostPart, Plan
from ...runtime.printable import printable, printable_lines
from ...runtime.remote.url import is_url, without_password
from ..pipeline import Progress, silent

WIDTH_IN_A_PIPE = 120
"""Width of tables, at most, if stdout is not a terminal."""

FEW = 8
"""Most operators of a part on LiteRT that are listed by name."""

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C or SIGTERM ends: 128 and the number of SIGINT."""

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print only JSON, for other programs."
)


class FilePath(click.Path):
    """A path that must not be empty, as it would be with an unset shell variable.

    It must end in one of `suffixes`, in small or capital letters, unless there are none.
    """

    def __init__(self, suffixes: Sequence[str] = ()) -> None:
        super().__init__(path_type=Path)
        self._suffixes = tuple(suffixes)

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if not value:
            self.fail("the path is empty", parameter, context)
        if is_url(value):
            self.fail(
                f"{without_password(value)} is a URL; this takes a path. `tflgpu-compile -o`, "
                f"`tflgpu cache` and `tflgpu.load` take URLs",
                parameter,
                context,
            )
        if self._suffixes and Path(value).suffix.lower() not in self._suffixes:
            known = "one of " * (len(self._suffixes) > 1) + ", ".join(self._suffixes)
            self.fail(f"{value} must end in {known}", parameter, context)
        return super().convert(value, parameter, context)


class CachePlace(FilePath):
    """A cache: the path of a folder, or the URL of a store as a string."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if is_url(value):
            return value
        return super().convert(value, parameter, context)


def _volume(*names: str, help: str) -> click.Option:
    """An option that is not passed to the command, but remembered."""

    def remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        context.meta[names[-1]] = value

    return click.Option(names, is_flag=True, expose_value=False, callback=remember, help=help)


def asked_for(name: str) -> bool:
    """Whether the command that runs was given --quiet or --verbose."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(name))


class Failure(click.ClickException):
    """An error of the model, the cache or the device: one message, exit code 1."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"error: {printable_lines(self.message)}", file=file or sys.stderr)


class Command(click.Command):
    """A command that reports a TflgpuError as one message; any other exception is a bug.

    Each has --quiet and --verbose, which say how much appears on stderr.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        settings = {"help_option_names": ["-h", "--help"]}
        super().__init__(*arguments, **{"context_settings": settings, **options})
        self.params += [
            _volume("-q", "--quiet", help="Show no notes and no progress, only warnings."),
            _volume("-v", "--verbose", help="Show each stage with its time, also in a pipe."),
        ]

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        with _interruptible():
            return super().make_context(*arguments, **options)

    def invoke(self, context: click.Context) -> Any:
        _take_any_text()
        try:
            with _interruptible(), _killed_as_by_ctrl_c(), _plain_warnings():
                return super().invoke(context)
        except TflgpuError as error:
            raise Failure(str(error)) from error
        except OSError as error:
            # Only errors on stdout name no file; click handles a closed pipe.
            if error.filename is not None or error.errno == errno.EPIPE:
                raise
            raise Failure(f"cannot write the output: {error.strerror}") from error


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let an interrupted command end with `INTERRUPTED`; click would end it with 1."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print Python's warnings as the commands' own, without file, line and class."""

    def show(message: Warning | str, *others: Any, **more: Any) -> None:
        warn(str(message))

    with catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def _killed_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, so that temporary folders are removed."""
    ours = current_thread() is main_thread() and getsignal(SIGTERM) is SIG_DFL
    if ours:
        signal(SIGTERM, default_int_handler)
    try:
        yield
    finally:
        if ours:
            signal(SIGTERM, SIG_DFL)


def _take_any_text() -> None:
    """Make stdout accept any name, whatever its encoding, and exist even if it was closed."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    elif isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


class Program(click.Group):
    """A group of `Command`s."""

    command_class = Command


def warn(message: str) -> None:
    """Print a warning on stderr."""
    click.echo(f"warning: {printable_lines(message)}", err=True)


def note(message: str) -> None:
    """Print a note on stderr, unless --quiet was given."""
    if not asked_for("--quiet"):
        click.echo(f"note: {printable_lines(message)}", err=True)


def print_json(value: Any) -> None:
    """Print the result as JSON; NaN and infinities, which JSON lacks, become null."""
    click.echo(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def kernels_in_launches(plan: Plan) -> str:
    """The number of kernels in a run, and the number of launches."""
    return f"{len(plan.dispatches)} in {plan.launches} launch{'es' if plan.launches != 1 else ''}"


def count_of(models: Sequence[object]) -> str:
    """The number of compiled models."""
    return f"{len(models)} compiled model{'s' * (len(models) != 1)}"


def operators_of(part: HostPart) -> str:
    """The operators of a part on LiteRT; their number if there are many."""
    count = len(part.operators)
    return part.label if count <= FEW else f"{count} operators"


def console(widest: int | None = None) -> Console:
    """The console on stdout, which prints names verbatim, at most `widest` columns wide."""
    width = None if sys.stdout.isatty() else WIDTH_IN_A_PIPE
    found = Console(highlight=False, markup=False, emoji=False, width=width)
    if widest is not None and found.width > widest:
        found.width = widest
    return found


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    right: Sequence[str] = (),
    width: int | None = None,
) -> None:
    """Print a table with a title, unless it has no rows; columns in `right` are right-aligned.

    It is at most as wide as the terminal and as `width`; longer cells are wrapped. Cells are text
    of one line, which may come from files.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        justify = "right" if column in right else "left"
        table.add_column(column, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*(printable_lines(str(cell).replace("\n", "\\n")) for cell in row))
    if table.row_count:
        click.echo(printable(title))
        shown = console(width)
        with shown.capture() as text:
            shown.print(table)
        # Rows are padded to the same length, which only widens what is piped or copied.
        click.echo("".join(f"{line.rstrip()}\n" for line in text.get().splitlines()))


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
