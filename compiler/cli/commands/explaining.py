"""`tflgpu explain`: what the compiler decides about a model, and why."""

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import click

from ...choices import each_choice
from ...events import Event
from ...options import Options
from ...tools.explain import Explanation, ImplementationChoice
from ...tools.explain import explain as explain_model
from ..compile_options import compile_options, format_options
from ..options import FilePath, model_argument
from ..printing import Answer, Column, Listing, full_names_option, json_option, per_choice
from ..shell import Command, Failure
from ..stages import progress

WIDTH = 80  # Columns of the tables, at most.
NAMED = 6  # Most operators that are named for each reason, without --all.


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
def explain(model: Path, options: Options, dump: Path | None, everything: bool) -> None:
    """Show which rewrites of MODEL were applied or declined and why, and what cannot run."""
    choices = each_choice(model, options)
    if dump and len(choices) > 1:
        raise click.UsageError("--dump takes the graphs of one choice of input shapes")
    with progress() as show:
        try:
            found = [explain_model(model, each, show, dump) for each in choices]
        except OSError as error:
            raise Failure(f"cannot write to {dump}: {error.strerror}") from error
    per_choice(choices, [_answer(explanation, everything) for explanation in found]).print()


def _grouped(events: Iterable[Event], most: int | None) -> list[tuple[str, str | None, int, str]]:
    """(rewrite, reason, count, operators) in order; at most so many operators are named, or all."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for event in events:
        groups.setdefault((event.rewrite, event.reason), []).append(" + ".join(event.operators))
    return [(*key, len(names), _named(names, most)) for key, names in groups.items()]


def _named(names: Sequence[str], most: int | None) -> str:
    """The first of some names, and whether there are more."""
    return ", ".join([*names[:most], *(["..."] if most and names[most:] else [])])


def _answer(explanation: Explanation, everything: bool) -> Answer:
    grouped = _grouped(explanation.events, None if everything else NAMED)
    applied = [row for row in grouped if row[1] is None]
    declined = [row for row in grouped if row[1]]
    half = any(choice.arithmetic == "half" for choice in explanation.choices)
    title = "Implementations" if everything else "Implementations; --all shows why not others"
    arithmetic = Column("arithmetic", "arithmetic" if half else None)
    choices = Listing(title, (*CHOICES, arithmetic), explanation.choices, WIDTH)
    findings = Listing("Operators that cannot run", FINDINGS, explanation.findings, WIDTH)
    fallback = Listing("Operators that run on LiteRT", FINDINGS, explanation.fallback, WIDTH)
    others = [
        (_origins(choice), f"{name}: {reason}")
        for choice in explanation.choices
        for name, reason in choice.unsupported
    ]
    sizes = [(_origins(choice), why) for choice in explanation.choices for why in choice.sizes]
    unsupported = "Implementations that do not support an operator"
    more = (
        Listing(unsupported, (OPERATORS, _nth(1, "unsupported", names=True)), others, WIDTH),
        Listing("Tiles and work-groups", (OPERATORS, _nth(1, "reason")), sizes, WIDTH),
    )
    return Answer(
        {
            "profile": explanation.profile,
            "operators": explanation.operators,
            "passes": [event.as_dict() for event in explanation.events],
            "findings": findings,
            "choices": choices,
            "fallback": fallback,
            "no_half": explanation.no_half,
        },
        [
            *_summary(explanation),
            Listing("Rewrites applied", (REWRITE, TIMES, NAMES), applied, WIDTH),
            Listing("Rewrites declined", (REWRITE, REASON, TIMES, NAMES), declined, WIDTH),
            choices,
            *(more if everything else ()),
            findings,
            fallback,
        ],
    )


def _nth(number: int, heading: str, right: bool = False, names: bool = False) -> Column:
    """A column of tuples, for people only."""
    return Column("", heading, text=itemgetter(number), right=right, names=names)


REWRITE, REASON = _nth(0, "rewrite"), _nth(1, "reason", names=True)
TIMES, NAMES = _nth(2, "times", right=True), _nth(3, "operators")
OPERATORS = _nth(0, "operators")


def _origins(choice: ImplementationChoice) -> str:
    return " + ".join(map(str, choice.operators))


CHOICES = (
    Column("operators", "operators", _origins),
    Column("implementation", "implementation"),
    Column("others"),
    Column("unsupported", value=lambda each: [f"{name}: {why}" for name, why in each.unsupported]),
    Column("sizes"),
)

FINDINGS = (
    Column("index"),
    Column("operator", "operator", text=lambda each: f"{each.index} {each.operator}"),
    Column("reason", "reason", names=True),
    Column("advice", "advice"),
)


def _summary(explanation: Explanation) -> Iterator[Listing | str]:
    """How many operators run where, and the reasons of those that do not run on the device."""
    elsewhere = [*explanation.findings, *explanation.fallback]
    total = explanation.operators
    counts = [f"{total - len(elsewhere)} of {total} operators run on the device"]
    if explanation.fallback:
        counts.append(f"{len(explanation.fallback)} on LiteRT")
    if explanation.findings:
        counts.append(f"{len(explanation.findings)} cannot run")
    yield f"{', '.join(counts)} (profile {explanation.profile}).\n"
    if explanation.no_half:
        yield f"f16 is stored only, and computed in single: {explanation.no_half}.\n"
    reasons: dict[str, list[str]] = {}
    for finding in elsewhere:
        reasons.setdefault(finding.reason, []).append(f"{finding.index} {finding.operator}")
    columns = (
        Column("", "operators", text=lambda row: len(row[1]), right=True),
        Column("", "reason", text=itemgetter(0), names=True),
        Column("", "such as", text=lambda row: _named(row[1], NAMED)),
    )
    rows = sorted(reasons.items(), key=lambda item: -len(item[1]))
    yield Listing("Reasons", columns, rows, WIDTH)
