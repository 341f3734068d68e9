"""`tflgpu devices` and `tflgpu ops`: list the attached devices and the supported operators."""

from __future__ import annotations

from typing import Any

import click

from ... import runtime
from ...runtime.api import unusable
from ...runtime.opencl.find import advice
from ..devices import profiles
from ..devices.attached import match
from ..frontend.tflite_schema import OWN_PREFIX
from ..ops import OPS, OpDef
from ..ops.base import ANY
from .printing import json_option, print_json, print_table
from .shell import Command, Failure, warn

COLUMNS = ("operator", "versions", "types", "kernels", "limits")

FOLDED = "none; decomposed or folded"
"""Shown in place of kernels for operators that are decomposed or folded at compile time."""


@click.command(cls=Command, short_help="List the devices and profiles.")
@json_option
def devices(as_json: bool) -> None:
    """List the devices, best first, and the target and profile to compile with for each.

    Devices and drivers that do not work come last, with the reason.
    """
    found = [(info, match(info)) for info in runtime.devices()]
    broken = unusable()
    if as_json:
        print_json(
            {
                "devices": [
                    *(
                        {
                            "name": info.name,
                            "platform": info.platform,
                            "version": info.version,
                            "driver": info.driver,
                            "type": info.type,
                            "target": info.target,
                            "usable": True,
                            "profile": matched.profile.name,
                            "because": matched.rule.conditions,
                        }
                        for info, matched in found
                    ),
                    *(
                        {"name": each.name, "target": each.target, "usable": False}
                        | {"reason": each.reason, "advice": each.advice}
                        for each in broken
                    ),
                ],
                "profiles": [
                    {"name": item.name, "description": item.description}
                    for item in profiles().values()
                ],
            }
        )
    else:
        names = [(info.name, info.target) for info, _ in found]
        print_table(
            "Devices, the best one first",
            ("device", "type", "driver", "target", "profile"),
            [
                (
                    info.name if names.count((info.name, info.target)) == 1 else info,
                    info.type,
                    info.driver.partition("_")[0],  # without the number of the build
                    info.target,
                    matched.profile.name,
                )
                for info, matched in found
            ],
        )
        print_table(
            "Unusable, see `tflgpu doctor`",
            ("device", "reason"),
            [(each.name, each.reason) for each in broken],
        )
        print_table(
            "Device profiles for --device, which also takes the path of your own profile",
            ("profile", "description"),
            [(item.name, item.description) for item in profiles().values()],
        )
    if not found:
        raise Failure("\n".join(map(str, broken)) or f"there is no device; {advice()}")
    if not any(info.target == "opencl" for info, _ in found):
        warn(f"there is no OpenCL device; {advice()}")


@click.command(cls=Command, short_help="List the supported operators.")
@click.option(
    "--markdown", is_flag=True, help="Print the table in Markdown, as docs/operators.md has it."
)
@json_option
def ops(markdown: bool, as_json: bool) -> None:
    """List the supported operators with their types and kernels."""
    if markdown and as_json:
        raise click.UsageError("--markdown and --json cannot be used together")
    if markdown:
        click.echo(operators_markdown(), nl=False)
    elif as_json:
        print_json({"operators": [_as_dict(definition) for definition in _known()]})
    else:
        print_table("Operators", COLUMNS, map(_row, _known()))


def operators_markdown() -> str:
    """The operator table in Markdown, as in docs/operators.md."""
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    lines += [f"| {' | '.join(_row(definition))} |" for definition in _known()]
    return "\n".join(lines) + "\n"


def _known() -> list[OpDef]:
    """The operators that a model can contain, sorted by name."""
    return [OPS[name] for name in sorted(OPS) if not name.startswith(OWN_PREFIX)]


def _row(definition: OpDef) -> tuple[str, ...]:
    return (
        definition.name,
        _versions(definition),
        _types(definition),
        ", ".join(_implementation_names(definition)) or FOLDED,
        definition.note,
    )


def _versions(definition: OpDef) -> str:
    last = definition.versions
    return "1" if last == 1 else f"1 to {last}"


def _types(definition: OpDef) -> str:
    return "any" if definition.dtypes == ANY else ", ".join(definition.dtypes)


def _implementation_names(definition: OpDef) -> list[str]:
    return list(dict.fromkeys(row.name for row in definition.implementations))


def _as_dict(definition: OpDef) -> dict[str, Any]:
    return {
        "name": definition.name,
        "newest_version": definition.versions,
        "dtypes": list(definition.dtypes),
        "implementations": _implementation_names(definition),
        "note": definition.note,
    }
