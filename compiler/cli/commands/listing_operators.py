"""`tflgpu ops`: list the supported operators."""

from operator import attrgetter

import click

from ...ops import OPS, OpDef
from ...ops.base.storage import ANY
from ...tflite_schema import OWN_PREFIX
from ..printing import JSON, Answer, Column, Listing, json_option
from ..shell import Command, asked_for

# Shown in place of kernels for operators that are decomposed or folded at compile time.
FOLDED = "none; decomposed or folded"


def _implementation_names(definition: OpDef) -> list[str]:
    return list(dict.fromkeys(row.name for row in definition.implementations))


OPERATORS = (
    Column("name", "operator"),
    Column(
        "newest_version",
        "versions",
        attrgetter("versions"),
        text=lambda each: "1" if each.versions == 1 else f"1 to {each.versions}",
    ),
    Column(
        "dtypes",
        "types",
        text=lambda each: "any" if each.dtypes == ANY else ", ".join(each.dtypes),
    ),
    Column(
        "implementations",
        "kernels",
        _implementation_names,
        text=lambda each: ", ".join(_implementation_names(each)) or FOLDED,
    ),
    Column("note", "limits"),
)


@click.command(cls=Command, short_help="List the supported operators.")
@click.option(
    "--markdown", is_flag=True, help="Print the table in Markdown, as docs/operators.md has it."
)
@json_option
def ops(markdown: bool) -> None:
    """List the supported operators with their types and kernels."""
    if not markdown:
        Answer({"operators": Listing("Operators", OPERATORS, _known())}).print()
    elif asked_for(JSON):
        raise click.UsageError("--markdown and --json cannot be used together")
    else:
        click.echo(operators_markdown(), nl=False)


def operators_markdown() -> str:
    """The operator table in Markdown, as in docs/operators.md."""
    lines = [f"| {' | '.join(str(each.heading) for each in OPERATORS)} |"]
    lines.append("|---" * len(OPERATORS) + "|")
    for definition in _known():
        lines.append(f"| {' | '.join(each.cell(definition) for each in OPERATORS)} |")
    return "\n".join(lines) + "\n"


def _known() -> list[OpDef]:
    """The operators that a model can contain, sorted by name."""
    return [OPS[name] for name in sorted(OPS) if not name.startswith(OWN_PREFIX)]
