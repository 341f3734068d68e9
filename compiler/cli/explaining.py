"""`tflgpu explain`: what the compiler decides about a model, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from ..choices import each_choice
from ..errors import Finding
from ..events import Event
from ..options import Options
from ..tools.explain import Explanation, ImplementationChoice
from ..tools.explain import explain as explain_model
from .compile_options import compile_options, format_options
from .options import model_argument
from .paths import FilePath
from .printing import full_names_option, json_option, print_json, print_table
from .shape_choices import per_choice, print_choice
from .shell import Command, Failure
from .stages import progress

WIDTH = 80
"""Columns of the tables, at most."""
NAMED = 6
"""Most operators that are named for each reason, without --all."""


@full_names_option
@click.command(cls=Command, short_help="Show what runs where, and why.")
@model_argument
@compile_options(fallback="none")
@format_options
@click.option(
    "--dump",
    metavar="DIR",
    type=FilePath(),
    help="Write the graph after each rewrite into this folder, as text.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Name every operator, and show why other implementations do not support it, and why its "
    "kernels have their tiles and work-groups.",
)
@json_option
def explain(
    model: Path, options: Options, dump: Path | None, everything: bool, as_json: bool
) -> None:
    """Show which rewrites of MODEL were applied or declined and why, and what cannot run."""
    choices = each_choice(model, options)
    if dump and len(choices) > 1:
        raise click.UsageError("--dump takes the graphs of one choice of input shapes")
    with progress() as show:
        try:
            found = [explain_model(model, each, show, dump) for each in choices]
        except OSError as error:
            raise Failure(f"cannot write to {dump}: {error.strerror}") from error
    if as_json:
        print_json(per_choice(choices, [explanation.as_dict() for explanation in found]))
        return
    for choice, explanation in zip(choices, found, strict=True):
        print_choice(choice, choices)
        _print_explanation(explanation, everything)


def _grouped(events: Iterable[Event], most: int | None) -> list[tuple[str, str | None, int, str]]:
    """(rewrite, reason, count, operators) of the events, by rewrite and reason, in order.

    At most so many operators are named, or all of them.
    """
    groups: dict[tuple[str, str | None], list[str]] = {}
    for event in events:
        groups.setdefault((event.rewrite, event.reason), []).append(" + ".join(event.operators))
    return [(*key, len(names), _named(names, most)) for key, names in groups.items()]


def _named(names: Sequence[str], most: int | None) -> str:
    """The first of some names, and whether there are more."""
    return ", ".join([*names[:most], *(["..."] if most and names[most:] else [])])


def _print_explanation(explanation: Explanation, everything: bool) -> None:
    _print_summary(explanation)
    grouped = _grouped(explanation.events, None if everything else NAMED)
    half = any(choice.arithmetic == "half" for choice in explanation.choices)
    print_table(
        "Rewrites applied",
        ("rewrite", "times", "operators"),
        [(name, count, names) for name, reason, count, names in grouped if reason is None],
        right=("times",),
        width=WIDTH,
    )
    print_table(
        "Rewrites declined",
        ("rewrite", "reason", "times", "operators"),
        [(name, reason, count, names) for name, reason, count, names in grouped if reason],
        right=("times",),
        width=WIDTH,
        names=("reason",),
    )
    print_table(
        "Implementations" if everything else "Implementations; --all shows why not others",
        ("operators", "implementation", *(["arithmetic"] if half else [])),
        [
            (_origins(choice), choice.implementation, *([choice.arithmetic] if half else []))
            for choice in explanation.choices
        ],
        width=WIDTH,
    )
    if everything:
        print_table(
            "Implementations that do not support an operator",
            ("operators", "unsupported"),
            [
                (_origins(choice), f"{name}: {reason}")
                for choice in explanation.choices
                for name, reason in choice.unsupported
            ],
            width=WIDTH,
            names=("unsupported",),
        )
        print_table(
            "Tiles and work-groups",
            ("operators", "reason"),
            [(_origins(c), reason) for c in explanation.choices for reason in c.sizes],
            width=WIDTH,
        )
    _print_findings("Operators that cannot run", explanation.findings)
    _print_findings("Operators that run on LiteRT", explanation.fallback)


def _origins(choice: ImplementationChoice) -> str:
    return " + ".join(map(str, choice.operators))


def _print_summary(explanation: Explanation) -> None:
    """How many operators run where, and the reasons of those that do not run on the device."""
    elsewhere = [*explanation.findings, *explanation.fallback]
    total = explanation.operators
    counts = [f"{total - len(elsewhere)} of {total} operators run on the device"]
    if explanation.fallback:
        counts.append(f"{len(explanation.fallback)} on LiteRT")
    if explanation.findings:
        counts.append(f"{len(explanation.findings)} cannot run")
    click.echo(f"{', '.join(counts)} (profile {explanation.profile}).\n")
    if explanation.no_half:
        click.echo(f"f16 is stored only, and computed in single: {explanation.no_half}.\n")
    reasons: dict[str, list[str]] = {}
    for finding in elsewhere:
        reasons.setdefault(finding.reason, []).append(f"{finding.index} {finding.operator}")
    print_table(
        "Reasons",
        ("operators", "reason", "such as"),
        [
            (len(names), reason, _named(names, NAMED))
            for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1]))
        ],
        right=("operators",),
        width=WIDTH,
        names=("reason",),
    )


def _print_findings(title: str, findings: Sequence[Finding]) -> None:
    print_table(
        title,
        ("operator", "reason", "advice"),
        [(f"{f.index} {f.operator}", f.reason, f.advice) for f in findings],
        width=WIDTH,
        names=("reason",),
    )
