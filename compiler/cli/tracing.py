"""The option --trace, and the summary by operator type."""

from collections.abc import Sequence

import click

from ..tools.trace.events import TypeTime
from .options import FilePath
from .printing import Column, Listing

TYPES = 15  # Most operator types that are printed.

trace_option = click.option(
    "--trace",
    "trace_file",
    type=FilePath((".json",)),
    metavar="FILE.json",
    help="Write when each stage, copy, kernel and part on LiteRT ran, to open at "
    "https://ui.perfetto.dev.",
)


COLUMNS = (
    Column("operators", "operators"),
    Column("place", "on"),
    Column("count", "count", right=True),
    Column("seconds", "ms", text=lambda row: f"{row.seconds * 1e3:.3f}", right=True),
    Column("share", "share", text="{:.1%}", right=True),
)


def types_listing(types: Sequence[TypeTime]) -> Listing:
    """The time of each operator type, at most so many of them."""
    rest = f", the first {TYPES} of {len(types)}" if len(types) > TYPES else ""
    title = f"Time by operator type, each kernel run on its own{rest}"
    return Listing(title, COLUMNS, types[:TYPES])
