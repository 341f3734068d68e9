"""Printing results: as tables for people, as JSON for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from ...runtime.plan.records import HostPart, Plan
from ...runtime.printable import printable, printable_lines
from .shell import asked_for, remembered
from .short_names import short_names, with_short_names

WIDTH_IN_A_PIPE = 120
"""Width of tables, at most, if stdout is not a terminal."""

FEW = 8
"""Most operators of a part on LiteRT that are listed by name."""

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print only JSON, for other programs."
)

FULL_NAMES = "--full-names"


def full_names_option(command: click.Command) -> click.Command:
    """The option that shows names of tensors whole, for a command that prints them in tables."""
    command.params.insert(
        -2, remembered(FULL_NAMES, help="Show long names of tensors whole in tables, as --json.")
    )
    return command


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
    names: Sequence[str] = (),
) -> None:
    """Print a table with a title, unless it has no rows; columns in `right` are right-aligned.

    It is at most as wide as the terminal and as `width`; longer cells are wrapped. Cells are text
    of one line, which may come from files. Names of tensors in the columns `names` are shortened if
    they are long, unless --full-names was given.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    named = [column in names and not asked_for(FULL_NAMES) for column in columns]
    short = short_names(cell for row in cells for cell, has in zip(row, named, strict=True) if has)
    if short:
        title += f"; long names are shortened, {FULL_NAMES} shows them whole"
        cells = [
            [with_short_names(c, short) if has else c for c, has in zip(row, named, strict=True)]
            for row in cells
        ]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        justify = "right" if column in right else "left"
        table.add_column(column, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in cells:
        table.add_row(*(printable_lines(cell.replace("\n", "\\n")) for cell in row))
    if table.row_count:
        click.echo(printable(title))
        shown = console(width)
        with shown.capture() as text:
            shown.print(table)
        # Rows are padded to the same length, which only widens what is piped or copied.
        click.echo("".join(f"{line.rstrip()}\n" for line in text.get().splitlines()))
