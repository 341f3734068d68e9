"""A command and the shell it runs in: its errors, warnings, exit code and interruption."""

import errno
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from signal import SIG_DFL, SIGINT, SIGTERM, default_int_handler, getsignal, signal
from threading import current_thread, main_thread
from typing import IO, Any
from warnings import catch_warnings

import click

from ...runtime.errors import TflgpuError
from ...runtime.printable import printable_lines

# Of a signal, which is called with its number and the stack.
Handler = Callable[[int, Any], object]

# The exit code of a command that Ctrl-C or SIGTERM ends: 128 and the number of SIGINT.
INTERRUPTED = 130


def remember(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Let `asked_for` know of a flag that is not passed to the command."""
    context.meta[parameter.opts[-1]] = value


def remembered(*names: str, help: str) -> click.Option:
    """A flag that is not passed to the command, but that `asked_for` knows of."""
    return click.Option(names, is_flag=True, expose_value=False, callback=remember, help=help)


def asked_for(name: str) -> bool:
    """Whether the command that runs was given an option such as --quiet."""
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
            remembered("-q", "--quiet", help="Show no notes and no progress, only warnings."),
            remembered("-v", "--verbose", help="Show each stage with its time, also in a pipe."),
        ]

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """UsageError for an option that is given twice, of which one would be ignored."""
        seen: set[click.Parameter] = set()
        for parameter in self.make_parser(context).parse_args(list(args))[2]:
            once = isinstance(parameter, click.Option) and not (
                parameter.multiple or parameter.is_flag or parameter.count
            )
            if once and parameter in seen:
                raise click.UsageError(
                    f"{parameter.opts[-1]} is given twice; give it once", context
                )
            seen.add(parameter)
        return super().parse_args(context, args)

    def invoke(self, context: click.Context) -> Any:
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
            # A name may have letters that the encoding of stdout has not.
            sys.stdout.reconfigure(errors="backslashreplace")
        return _interruptible(lambda: self._invoke(context), context.obj)

    def _invoke(self, context: click.Context) -> Any:
        try:
            with _killed_as_by_ctrl_c(), _plain_warnings():
                return super().invoke(context)
        except TflgpuError as error:
            raise Failure(str(error)) from error
        except OSError as error:
            # Only those of stdout and of the current folder name no file; click handles a closed
            # pipe.
            if error.filename is not None or error.errno == errno.EPIPE:
                raise
            if error.errno == errno.ENOENT:
                raise Failure(
                    "the current folder no longer exists; change to another, or give whole paths"
                ) from error
            # What is still to be written would fail again at the end of the process.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            raise Failure(f"cannot write the output: {error.strerror}") from error


def _interruptible(invoke: Callable[[], Any], outside: Handler | None) -> Any:
    """The result of a command, which ends with `INTERRUPTED` if it is; click would end it with 1.

    `outside` handles Ctrl-C before and after; None if that is none of this program's business. This
    is no context manager, between which and its block Ctrl-C may arrive, too.
    """
    try:
        try:
            if outside:
                signal(SIGINT, default_int_handler)
            return invoke()
        finally:
            if outside:
                signal(SIGINT, outside)
    except KeyboardInterrupt:
        if outside:  # it may have come just before it was set
            signal(SIGINT, outside)
        click.echo("interrupted", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print Python's warnings as the commands' own, each once, without file, line and class."""
    told: set[str] = set()

    def show(message: Warning | str, *others: Any, **more: Any) -> None:
        text = str(message)
        if text not in told:
            told.add(text)
            warn(text)

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


class Program(click.Group):
    """A group of `Command`s, of which some are imported when they are called or listed."""

    command_class = Command

    def __init__(self, *arguments: Any, late: Mapping[str, str] = {}, **options: Any) -> None:
        """`late` has the modules and names of those commands."""
        super().__init__(*arguments, **options)
        self._late = late

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*self.commands, *self._late})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in self._late and name not in self.commands:
            module, _, member = self._late[name].rpartition(".")
            self.add_command(getattr(import_module(module), member))
        return super().get_command(context, name)


def warn(message: str) -> None:
    click.echo(f"warning: {printable_lines(message)}", err=True)


def note(message: str) -> None:
    """Print a note on stderr, unless --quiet was given."""
    if not asked_for("--quiet"):
        click.echo(f"note: {printable_lines(message)}", err=True)
