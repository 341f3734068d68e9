"""`tflgpu devices` and `tflgpu ops`: list the attached devices and the supported operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from operator import attrgetter

import click

from ... import runtime
from ...runtime.api import unusable
from ...runtime.opencl.find import advice
from ..devices import profiles
from ..devices.attached import Match, match
from ..frontend.tflite_schema import OWN_PREFIX
from ..ops import OPS, OpDef
from ..ops.base import ANY
from .printing import JSON, Answer, Column, Listing, json_option
from .shell import Command, Failure, asked_for, warn

FOLDED = "none; decomposed or folded"
"""Shown in place of kernels for operators that are decomposed or folded at compile time."""


def _versions(definition: OpDef) -> str:
    last = definition.versions
    return "1" if last == 1 else f"1 to {last}"


def _types(definition: OpDef) -> str:
    return "any" if definition.dtypes == ANY else ", ".join(definition.dtypes)


def _implementation_names(definition: OpDef) -> list[str]:
    return list(dict.fromkeys(row.name for row in definition.implementations))


OPERATORS = (
    Column("name", "operator"),
    Column("newest_version", "versions", attrgetter("versions"), _versions),
    Column("dtypes", "types", text=_types),
    Column(
        *("implementations", "kernels", _implementation_names),
        text=lambda each: ", ".join(_implementation_names(each)) or FOLDED,
    ),
    Column("note", "limits"),
)

PROFILES = (Column("name", "profile"), Column("description", "description"))

BROKEN = (
    Column("name", "device"),
    Column("target"),
    Column("usable", value=lambda each: False),
    Column("reason", "reason"),
    Column("advice"),
)


def _usable(found: Mapping[runtime.DeviceInfo, Match]) -> Listing:
    """The devices that work; one is shown with its platform if another has its name."""
    names = Counter((info.name, info.target) for info in found)
    columns = (
        Column(
            *("name", "device"),
            text=lambda info: info if names[info.name, info.target] > 1 else info.name,
        ),
        Column("platform"),
        Column("version"),
        Column("type", "type"),
        Column(
            *("driver", "driver"),
            text=lambda info: info.driver.partition("_")[0],  # without the number of the build
        ),
        Column("target", "target"),
        Column("usable", value=lambda info: True),
        Column("profile", "profile", lambda info: found[info].profile.name),
        Column("because", value=lambda info: found[info].rule.conditions),
    )
    return Listing("Devices, the best one first", columns, [*found])


@click.command(cls=Command, short_help="List the devices and profiles.")
@json_option
def devices() -> None:
    """List the devices, best first, and the target and profile to compile with for each.

    Devices and drivers that do not work come last, with the reason.
    """
    found = {info: match(info) for info in runtime.devices()}
    broken = unusable()
    usable = _usable(found)
    others = Listing("Unusable, see `tflgpu doctor`", BROKEN, broken)
    own = "Device profiles for --device, which also takes the path of your own profile"
    known = Listing(own, PROFILES, [*profiles().values()])
    devices = [*usable.objects(), *others.objects()]
    Answer({"devices": devices, "profiles": known}, (usable, others, known)).print()
    if not found:
        raise Failure("\n".join(map(str, broken)) or f"there is no device; {advice()}")
    if not any(info.target == "opencl" for info in found):
        warn(f"there is no OpenCL device; {advice()}")


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
