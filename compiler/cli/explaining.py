"""`tflgpu explain`: what the compiler decides about a model, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from ..errors import Finding
from ..events import Event
from ..options import Options
from ..tools.explain import Explanation
from ..tools.explain import explain as explain_model
from .options import compile_options, format_options, model_argument
from .shape_choices import per_choice, print_choice
from .shell import Command, Failure, FilePath, json_option, print_json, print_table, progress

WIDTH = 80
"""Columns of the tables, at most."""
NAMED = 6
"""Most operators that the summary names for each reason."""


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
    help="Show for each operator why other implementations do not support it, and the reckoning "
    "behind its tile and work-group, too.",
)
@json_option
def explain(
    model: Path, options: Options, dump: Path | None, everything: bool, as_json: bool
) -> None:
    """Show which rewrites of MODEL were applied or declined and why, and what cannot run."""
    choices = options.for_each_choice()
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


def _grouped(events: Iterable[Event]) -> list[tuple[str, str | None, str]]:
    """(rule, reason, operators) of the events, grouped by rule and reason, in order."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for event in events:
        groups.setdefault((event.rule, event.reason), []).append(" + ".join(event.operators))
    return [(*key, ", ".join(operators)) for key, operators in groups.items()]


def _print_explanation(explanation: Explanation, everything: bool) -> None:
    _print_summary(explanation)
    grouped = _grouped(explanation.events)
    half = any(choice.arithmetic == "half" for choice in explanation.choices)
    print_table(
        "Rewrites applied",
        ("rewrite", "operators"),
        [(rule, operators) for rule, reason, operators in grouped if reason is None],
        width=WIDTH,
    )
    print_table(
        "Rewrites declined",
        ("rewrite", "reason", "operators"),
        [(rule, reason, operators) for rule, reason, operators in grouped if reason],
        width=WIDTH,
    )
    print_table(
        "Implementations" if everything else "Implementations; --all shows why not others",
        ("operators", "implementation", *(["arithmetic"] if half else [])),
        [
            (choice.operators, choice.implementation, *([choice.arithmetic] if half else []))
            for choice in explanation.choices
        ],
        width=WIDTH,
    )
    if everything:
        print_table(
            "Implementations that do not support an operator",
            ("operators", "unsupported"),
            [(c.operators, reason) for c in explanation.choices for reason in c.unsupported],
            width=WIDTH,
        )
        print_table(
            "Tiles and work-groups",
            ("operators", "reason"),
            [(c.operators, reason) for c in explanation.choices for reason in c.sizes],
            width=WIDTH,
        )
    _print_findings("Operators that cannot run", explanation.findings)
    _print_findings("Operators that run on LiteRT", explanation.fallback)


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
            (len(names), reason, ", ".join(names[:NAMED]) + (", ..." if names[NAMED:] else ""))
            for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1]))
        ],
        right=("operators",),
        width=WIDTH,
    )


def _print_findings(title: str, findings: Sequence[Finding]) -> None:
    print_table(
        title,
        ("operator", "reason", "advice"),
        [(f"{f.index} {f.operator}", f.reason, f.advice) for f in findings],
        width=WIDTH,
    )
