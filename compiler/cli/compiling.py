"""`tflgpu compile`: compile a model into a cache."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

import click
from rich.filesize import decimal

from ...runtime.store.variant import edited_kernels, read_plan
from .. import pipeline
from ..api import build_kernels
from ..devices import names_profile, profile
from ..emit.compiled_model import CompiledModel, fallback_text
from ..keep_f32 import settle
from ..options import FOR_OTHER_RUNTIMES, Options
from ..schedule.tuning_table import read_table
from ..tools.tune import Found, table_path, tune
from .device_names import DeviceName
from .options import compile_options, format_options, model_argument, tolerance_option
from .shell import (
    Command,
    FilePath,
    json_option,
    kernels_in_launches,
    note,
    operators_of,
    print_json,
    print_table,
    progress,
    warn,
)


@click.command("compile", cls=Command, short_help="Compile a model into a cache folder.")
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
@compile_options(fallback="litert", several=True)
@format_options
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
    type=DeviceName(profile=False),
    default="",
    metavar="DEVICE",
    help="Also compile the kernels with the driver of this attached device (auto: the best one), "
    "so that even the first load is fast.",
)
@json_option
def compile_command(
    model: Path,
    cache: Path,
    options: list[Options],
    tolerance: float,
    search: bool,
    prebuild: str,
    as_json: bool,
) -> None:
    """Compile MODEL, a .tflite file, into a cache folder."""
    results = [_compile(model, cache, each, tolerance, search, prebuild) for each in options]
    for result in results:
        _warn(result, search)
    if as_json:
        reports = [result.as_dict() for result in results]
        print_json(reports[0] if len(reports) == 1 else {"variants": reports})
        return
    for result in results:
        print_table(result.compiled.plan.model, ("property", "value"), _rows(result))
        click.echo(result.path)


@dataclass(frozen=True)
class _Result:
    compiled: CompiledModel
    path: Path
    options: Options
    """As settled: with the tuning table and the operators kept in single precision."""

    def as_dict(self) -> dict[str, Any]:
        return {"path": self.path, **self.compiled.report, "tuning": self.options.tuning or None}


def _compile(
    model: Path, cache: Path, options: Options, tolerance: float, search: bool, prebuild: str
) -> _Result:
    with progress() as show:
        options = settle(model, options, tolerance, show)
        if search:
            table = Path(options.tuning) if options.tuning else table_path(cache, options)
            try:
                tune(model, options, table, show, _tell)
            except KeyboardInterrupt:
                note(f"results are stored in {table}; run the command again to continue")
                raise
            options = replace(options, tuning=str(table))
        compiled = pipeline.build(model, options, show)
        path = pipeline.store(compiled, cache)
        if prebuild:
            show("prebuild", 0, 1)
            build_kernels(path, prebuild)
    return _Result(compiled, path, options)


def _tell(found: Found) -> None:
    """Print what the search has found for a kernel."""
    milliseconds, timing = "as fast as before", found.timing
    if timing is None:
        milliseconds = "no other size runs"
    elif timing.seconds < timing.before:
        before = "" if timing.before == inf else f"{timing.before * 1e3:.3f} ms became "
        milliseconds = f"{before}{timing.seconds * 1e3:.3f} ms"
    left = f", about {found.seconds_left:.0f} s left" if found.done < found.total else ""
    note(f"tuned {found.done} of {found.total}{left}: {found.label}: {milliseconds}")


def _warn(result: _Result, search: bool) -> None:
    options = result.options
    if names_profile(options.device):
        chosen = profile(options.device)
        if options.target not in chosen.targets:
            warn(
                f"the profile {chosen.name} ({chosen.description}) is for the targets "
                f"{', '.join(chosen.targets)}, but these kernels are for {options.target}"
            )
    if options.target in FOR_OTHER_RUNTIMES:
        note(
            f"`tflgpu run` and `tflgpu export` take kernels for opencl or glsl; those for "
            f"{options.target} are for a runtime of your own, which docs/deploying.md describes"
        )
    if result.options.tuning and not (search or result.compiled.tuned):
        device = read_table(Path(result.options.tuning)).device
        warn(
            f"{result.options.tuning}, measured on {device}, has no sizes for kernels of "
            f"this model; --tune searches for them"
        )
    edited = edited_kernels(read_plan(result.path))
    if edited:
        note(
            f"the variant was compiled before and edited since; it keeps {', '.join(edited)} as "
            f"edited, until: tflgpu edit {result.path} KERNEL --revert"
        )
    fallback = result.compiled.report["fallback"]
    if fallback:
        warn(f"{fallback_text(fallback)}")


def _rows(result: _Result) -> list[tuple[str, object]]:
    compiled, report = result.compiled, result.compiled.report
    memory = {name: decimal(size) for name, size in report["memory"].items()}
    applied = sum(event["applied"] for event in report["passes"])
    return [
        ("operators in", report["operators"]),
        ("rewrites", f"{applied} applied, {len(report['passes']) - applied} declined"),
        ("kernels out", kernels_in_launches(compiled.plan)),
        *(
            (
                "in Python" if part.function else "on LiteRT",
                f"{part.file}: {operators_of(part)}",
            )
            for part in compiled.plan.parts
        ),
        ("arithmetic", f"{report['flops'] / 1e6:,.1f} million operations"),
        ("bytes moved", decimal(report["bytes_moved"])),
        (
            "memory",
            f"{memory['planned']} (without sharing {memory['naive']}, lower bound "
            f"{memory['lower_bound']})",
        ),
        ("weights", decimal(compiled.plan.weights_size)),
        ("for", f"{compiled.plan.target}, {compiled.plan.precision}, {compiled.plan.profile}"),
        *(("kept in single precision", len(kept)) for kept in [result.options.keep_f32] if kept),
        *(
            ("tuning", f"{name}, {compiled.tuned} kernels")
            for name in [result.options.tuning]
            if name
        ),
    ]
