"""What commands print: one answer, as tables for people and as JSON for programs."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from ...runtime.input_shapes import listed
from ...runtime.plan.records import HostPart, Plan
from ...runtime.printable import printable, printable_lines
from ..ir.short_names import short_names, with_short_names
from ..options import Options
from .shell import asked_for, remember, remembered

WIDTH_IN_A_PIPE = 120  # Width of tables, at most, if stdout is not a terminal.
FEW = 8  # Most operators of a part on LiteRT that are listed by name.

JSON = "--json"

# For a command that prints an `Answer`.
json_option = click.option(
    JSON,
    is_flag=True,
    expose_value=False,
    callback=remember,
    help="Print only JSON, for other programs.",
)

FULL_NAMES = "--full-names"


def full_names_option(command: click.Command) -> click.Command:
    """The option that shows names of tensors whole, for a command that prints them in tables."""
    command.params.insert(
        -2, remembered(FULL_NAMES, help="Show long names of tensors whole in tables, as --json.")
    )
    return command


@dataclass(frozen=True)
class Column:
    """What an answer says of each row of a listing: a member of its object in JSON, a cell of its
    row in the table, or both."""

    key: str = ""  # Of the member; "" if only the table has it.
    heading: str | None = None  # Of the cell; None if only JSON has it.
    # The member of a row; by default, the row's attribute of that key.
    value: Callable[[Any], object] | None = None
    # The cell of a row, or the format in which it has the value.
    text: Callable[[Any], object] | str = "{}"
    right: bool = False  # Whether cells are right-aligned, as numbers are.
    # Whether cells have names of tensors: long ones are shortened without --full-names.
    names: bool = False

    def of(self, row: Any) -> Any:
        return getattr(row, self.key) if self.value is None else self.value(row)

    def cell(self, row: Any) -> str:
        return self.text.format(self.of(row)) if isinstance(self.text, str) else str(self.text(row))


@dataclass(frozen=True)
class Listing:
    """Rows of the same kind: a table with a title for people, a list of objects in JSON."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Any]
    # Columns of text of the table, at most; by default, those of the terminal.
    width: int | None = None
    always: bool = False  # Whether people read the title even if there are no rows.

    def objects(self) -> list[dict[str, Any]]:
        """The rows for JSON."""
        return [{each.key: each.of(row) for each in self.columns if each.key} for row in self.rows]

    def show(self) -> None:
        """Print the table. Cells are text of one line, which may come from files."""
        if not self.rows:
            click.echo(printable(self.title) + "\n" if self.always else "", nl=False)
            return
        title, columns = self.title, [each for each in self.columns if each.heading is not None]
        cells = [[each.cell(row) for each in columns] for row in self.rows]
        named = [each.names and not asked_for(FULL_NAMES) for each in columns]
        pairs = [pair for row in cells for pair in zip(row, named, strict=True)]
        short = short_names(cell for cell, has in pairs if has)
        if short:
            title += f"; long names are shortened, {FULL_NAMES} shows them whole"
            cells = [
                [
                    with_short_names(c, short) if has else c
                    for c, has in zip(row, named, strict=True)
                ]
                for row in cells
            ]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for each in columns:
            justify: Literal["left", "right"] = "right" if each.right else "left"
            table.add_column(each.heading or "", justify=justify, overflow="fold")
        for row in cells:
            table.add_row(*(printable_lines(cell.replace("\n", "\\n")) for cell in row))
        click.echo(printable(title))
        shown = console(self.width)
        with shown.capture() as text:
            shown.print(table)
        # Rows are padded to the same length, which only widens what is piped or copied.
        click.echo("".join(f"{line.rstrip()}\n" for line in text.get().splitlines()))


def properties(title: str, rows: Sequence[tuple[object, ...]], *headings: str) -> Listing:
    """A table of tuples, for people only; its columns have these headings."""
    columns = [Column("", name, text=itemgetter(n)) for n, name in enumerate(headings)]
    return Listing(title, columns, rows)


@dataclass(frozen=True)
class Answer:
    # The members of the JSON object. Listings among them are lists of objects.
    values: Mapping[str, Any]
    # What people read instead, tables and lines of text; by default the listings in `values`.
    shown: Sequence[Listing | str] | None = None

    def tables(self) -> Sequence[Listing | str]:
        """What people read."""
        if self.shown is not None:
            return self.shown
        return [value for value in self.values.values() if isinstance(value, Listing)]

    def print(self) -> None:
        """Print it on stdout: with --json as JSON, else for people."""
        if asked_for(JSON):
            # NaN and infinities, which JSON lacks, become null.
            click.echo(json.dumps(_plain(self.values), indent=2, allow_nan=False))
            return
        for each in self.tables():
            if isinstance(each, Listing):
                each.show()
            else:
                click.echo(each)


def tell(text: object) -> None:
    """Print a line for people, on stdout: nothing with --json."""
    if not asked_for(JSON):
        click.echo(text)


def _plain(value: Any) -> Any:
    if isinstance(value, Listing):
        return _plain(value.objects())
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
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


def memory_of(plan: Plan) -> str:
    """The arena's size, what it would be without sharing, and the least it could be."""
    sizes = plan.memory
    least, naive = decimal(sizes.lower_bound), decimal(sizes.naive)
    return f"{decimal(sizes.planned)} (without sharing {naive}, lower bound {least})"


def count_of(models: Sequence[object]) -> str:
    return f"{len(models)} compiled model{'s' * (len(models) != 1)}"


def minute(seconds: float) -> str:
    """A time since the epoch, to the minute."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


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


def per_choice(choices: Sequence[Options], answers: Sequence[Answer]) -> Answer:
    """One answer; in JSON several under "choices", each with its signature and input shapes."""
    if len(answers) == 1:
        return answers[0]
    members = []
    shown: list[Listing | str] = []
    for choice, answer in zip(choices, answers, strict=True):
        key = {"signature": choice.signature_key} if choice.signature else {}
        members.append({**key, "input_shapes": dict(choice.input_shapes), **answer.values})
        shown += [_title(choice), *answer.tables()]
    return Answer({"choices": members}, shown)


def _title(choice: Options) -> str:
    """The signature and input shapes that what follows is about."""
    shapes = listed(dict(choice.input_shapes))
    parts = [f"signature {key}" for key in choice.signature]
    parts += [f"input shapes {shapes}"] if shapes else []
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}:\n"
