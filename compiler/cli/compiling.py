"""`tflgpu compile` and `tflgpu explain`: compile a model into a cache, and explain the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click
from rich.filesize import decimal

from ...runtime.plan.records import HostPart
from .. import pipeline
from ..api import build_kernels
from ..emit.compiled_model import fallback_text
from ..events import Event
from ..keep_f32 import settle
from ..options import Options
from ..schedule.tuning_table import read_table
from ..tools.explain import Explanation
from ..tools.explain import explain as explain_model
from ..tools.tune import table_path, tune
from .options import compile_options, model_argument, tolerance_option
from .shell import (
    Command,
    Failure,
    FilePath,
    console,
    json_option,
    kernels_in_launches,
    print_json,
    print_table,
    progress,
    warn,
)

FEW = 8
"""Most operators of a part on LiteRT that are listed by name."""


@click.command("compile", cls=Command)
@model_argument
@click.option(
    "-o",
    "--output",
    "cache",
    required=True,
    metavar="CACHE",
    type=FilePath(),
    help="The cache folder, created if it does not exist.",
)
@compile_options(fallback="litert")
@tolerance_option
@click.option(
    "--tune",
    "search",
    is_flag=True,
    help="First search for the fastest tiles and work-groups on the attached device. They are "
    "stored in the file of --tuning or in CACHE/tuning; an interrupted search continues there.",
)
@click.option(
    "--prebuild",
    default="",
    metavar="DEVICE",
    help="Also compile the kernels with the driver of this attached device (auto: the best one), "
    "so that even the first load is fast.",
)
@json_option
def compile_command(
    model: Path,
    cache: Path,
    options: Options,
    tolerance: float,
    search: bool,
    prebuild: str,
    as_json: bool,
) -> None:
    """Compile MODEL, a .tflite file, into a cache folder."""
    with progress() as show:
        options = settle(model, options, tolerance, show)
        if search:
            table = Path(options.tuning) if options.tuning else table_path(cache, options)
            try:
                tune(model, options, table, show)
            except KeyboardInterrupt:
                warn(f"note: results are stored in {table}; run the command again to continue")
                raise
            options = replace(options, tuning=str(table))
        compiled = pipeline.build(model, options, show)
        path = pipeline.store(compiled, cache)
        if prebuild:
            show("prebuild", 0, 1)
            build_kernels(path, prebuild)
    report = compiled.report
    if options.tuning and not (search or compiled.tuned):
        device = read_table(Path(options.tuning)).device
        warn(
            f"warning: {options.tuning}, measured on {device}, has no sizes for kernels of this "
            f"model; --tune searches for them"
        )
    if report["fallback"]:
        warn(f"warning: {fallback_text(report['fallback'])}")
    if as_json:
        print_json({"path": path, **report, "tuning": options.tuning or None})
        return
    memory = {name: decimal(size) for name, size in report["memory"].items()}
    applied = sum(event["applied"] for event in report["passes"])
    rows = (
        ("operators in", report["operators"]),
        ("rewrites", f"{applied} applied, {len(report['passes']) - applied} declined"),
        ("kernels out", kernels_in_launches(compiled.plan)),
        *(("on LiteRT", _part(part)) for part in compiled.plan.parts),
        ("arithmetic", f"{report['flops'] / 1e6:,.1f} million operations"),
        ("bytes moved", decimal(report["bytes_moved"])),
        (
            "memory",
            f"{memory['planned']} (without sharing {memory['naive']}, lower bound "
            f"{memory['lower_bound']})",
        ),
        ("weights", decimal(compiled.plan.weights_size)),
        ("for", f"{compiled.plan.target}, {compiled.plan.precision}, {compiled.plan.profile}"),
        *(("kept in single precision", len(kept)) for kept in [options.keep_f32] if kept),
        *(("tuning", f"{name}, {compiled.tuned} kernels") for name in [options.tuning] if name),
    )
    print_table(compiled.plan.model, ("property", "value"), rows)
    click.echo(path)


def _part(part: HostPart) -> str:
    count = len(part.operators)
    return f"{part.file}: {part.label if count <= FEW else f'{count} operators'}"


@click.command(cls=Command)
@model_argument
@compile_options(fallback="none")
@click.option(
    "--dump",
    metavar="DIR",
    type=FilePath(),
    help="Write the graph after each rewrite into this folder, as text.",
)
@json_option
def explain(model: Path, options: Options, dump: Path | None, as_json: bool) -> None:
    """Show which rewrites of MODEL were applied or declined and why, and what cannot run."""
    with progress() as show:
        try:
            explanation = explain_model(model, options, show, dump)
        except OSError as error:
            raise Failure(f"cannot write to {dump}: {error.strerror}") from error
    if as_json:
        print_json(explanation.as_dict())
    else:
        _print_explanation(explanation)


def _grouped(events: Iterable[Event]) -> list[tuple[str, str | None, str]]:
    """(rule, reason, operators) of the events, grouped by rule and reason, in order."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for event in events:
        groups.setdefault((event.rule, event.reason), []).append(" + ".join(event.operators))
    return [(*key, ", ".join(operators)) for key, operators in groups.items()]


def _print_explanation(explanation: Explanation) -> None:
    grouped = _grouped(explanation.events)
    print_table(
        "Rewrites applied",
        ("rewrite", "operators"),
        [(rule, operators) for rule, reason, operators in grouped if reason is None],
    )
    print_table(
        "Rewrites declined",
        ("rewrite", "reason", "operators"),
        [(rule, reason, operators) for rule, reason, operators in grouped if reason],
    )
    print_table(
        "Implementations",
        ("operators", "implementation", "unsupported"),
        [
            (choice.operators, choice.implementation, "; ".join(choice.unsupported))
            for choice in explanation.choices
        ],
    )
    print_table(
        "Operators that cannot run",
        ("operator", "reason", "advice"),
        [(f"{f.index} {f.operator}", f.reason, f.advice) for f in explanation.findings],
    )
    print_table(
        "Operators that run on LiteRT",
        ("operator", "reason", "advice"),
        [(f"{f.index} {f.operator}", f.reason, f.advice) for f in explanation.fallback],
    )
    if not explanation.findings and not explanation.fallback:
        console().print("Every operator can run on the device.")
