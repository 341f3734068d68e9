"""The option --trace, and the summary by operator type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..tools.trace.events import Trace
from ..tools.trace.summary import TypeTime
from .paths import FilePath
from .printing import print_table
from .whole_file import write_whole

TYPES = 15
"""Most operator types that are printed."""


trace_option = click.option(
    "--trace",
    "trace_file",
    type=FilePath((".json",)),
    metavar="FILE.json",
    help="Write when each stage, copy, kernel and part on LiteRT ran, to open at "
    "https://ui.perfetto.dev.",
)


def write_trace(path: Path, trace: Trace, title: str) -> None:
    """Write the file of --trace (Failure)."""
    write_whole(path, trace.as_json(title).encode())


def print_types(types: Sequence[TypeTime]) -> None:
    """Print the time of each operator type."""
    rest = f", the first {TYPES} of {len(types)}" if len(types) > TYPES else ""
    print_table(
        f"Time by operator type, each kernel run on its own{rest}",
        ("operators", "on", "count", "ms", "share"),
        [
            (row.operators, row.place, row.count, f"{row.seconds * 1e3:.3f}", f"{row.share:.1%}")
            for row in types[:TYPES]
        ],
        right=("count", "ms", "share"),
    )
