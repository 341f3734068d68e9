"""`tflgpu compile`: compile models into a cache."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.filesize import decimal

from ....runtime.cache.variant import edited_kernels
from ....runtime.errors import TflgpuError
from ....runtime.input_shapes import described_choices
from ....runtime.plan.records import Plan
from ....runtime.remote.keys import Ask
from ...api import build_kernels
from ...devices import names_profile, profile
from ...emit.compiled_model import fallback_texts
from ...fleet.api import place, workers
from ...fleet.models import find_models
from ...fleet.place import Place
from ...fleet.result import Result
from ...fleet.run import run
from ...fleet.tasks import matrix
from ...options import FOR_OTHER_RUNTIMES, Options
from ...sizing.tuning_table import read_table
from ...telling import Progress
from ..compile_options import compile_options, format_options, tolerance_option
from ..compiled_matrix import counted, print_matrix
from ..options import CachePlace, DeviceName, fleet_options, models_argument, output_option
from ..printing import Answer, json_option, kernels_in_launches, memory_of, operators_of, properties
from ..shell import Command, note, warn
from ..stages import progress
from .tuning import search_here


@click.command("compile", cls=Command, short_help="Compile models into a cache folder.")
@models_argument
@output_option(
    CachePlace(),
    "The cache folder, created if it does not exist; or the URL of a store, such as s3://models or "
    "sftp://host/models.",
)
@click.option(
    "--sign",
    default="",
    metavar="KEY",
    help="For a store: the file of an ed25519 key, as `ssh-keygen -t ed25519` makes it, that signs "
    "what is compiled.",
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
@fleet_options
@json_option
def compile_command(
    models: tuple[Path, ...],
    cache: Path | str,
    sign: str,
    options: list[Options],
    tolerance: float,
    search: bool,
    prebuild: str,
    jobs: int,
    scheduler: str,
) -> None:
    """Compile models into a cache folder.

    MODELS are .tflite files, folders of them, patterns such as 'models/**/*.tflite', and lists:
    @FILE stands for the lines of a text file. Each is compiled for each --device with each
    --precision. A single compilation prints what became of the model; several print a table, skip
    what is in the cache already, and go on if one fails.
    """
    if isinstance(cache, str) and prebuild:
        raise click.UsageError("--prebuild is for folders: binaries are of use to this device only")
    if isinstance(cache, str) and search and not all(each.tuning for each in options):
        raise click.UsageError("--tune for a store needs --tuning FILE, where the results are kept")
    where = place(cache, sign, passphrases())
    files = find_models(models)
    _warn_about_targets(options)
    single = len(files) == len(set(options)) == 1
    with progress() as stages:
        show = stages if single else None
        if search:
            found = search_here(files, options, Path(cache), tolerance, stages)
            tasks = [
                task for each in found for task in matrix([each.model], [each.options], tolerance)
            ]
        else:
            tasks = matrix(files, options, tolerance)
        with counted(0 if single else len(tasks)) as count, workers(jobs, scheduler, show) as used:
            results, unbuilt = [], {}
            for result in run(tasks, where, used, again=single):
                results.append(result)
                if (error := _prebuild(result, prebuild, stages)) is not None:
                    unbuilt[result.task] = error
                count(result)
    if single:
        for error in unbuilt.values():
            raise error
        _print_single(results[0], where, search)
    else:
        order = {task: number for number, task in enumerate(tasks)}
        results.sort(key=lambda result: order[result.task])
        texts = (
            f"{result.task.model}: {text}"
            for result in results
            for text in _warnings(result, search)
        )
        for text in dict.fromkeys(texts):
            warn(text)
        print_matrix(results, where.manifest, unbuilt)


def _prebuild(result: Result, device: str, show: Progress) -> TflgpuError | None:
    """Have the driver of a device compile a result's kernels; the reason if it cannot."""
    if not device or not isinstance(result.path, Path):
        return None
    show("prebuild", 0, 1)
    try:
        build_kernels(result.path, device)
    except TflgpuError as error:
        return error
    return None


def _warn_about_targets(options: Sequence[Options]) -> None:
    for device, target in dict.fromkeys((each.device, each.target) for each in options):
        chosen = profile(device) if names_profile(device) else None
        if chosen and target not in chosen.targets:
            warn(
                f"the profile {chosen.name} ({chosen.description}) is for the targets "
                f"{', '.join(chosen.targets)}, but these kernels are for {target}"
            )
    target = options[0].target
    if target in FOR_OTHER_RUNTIMES:
        note(
            f"`tflgpu run` and `tflgpu export` take kernels for opencl, glsl or wgsl; those for "
            f"{target} are for a runtime of your own, which docs/deploying.md describes"
        )


def _print_single(result: Result, where: Place, search: bool) -> None:
    """Print what became of the only task, in detail; raise its error if it failed."""
    if result.error:
        raise result.error
    assert result.report is not None
    tuning = result.task.options.tuning
    plan = where.plan(result.task.fingerprint, result.variant)
    edited = edited_kernels(plan)
    if edited:
        note(
            f"the variant was compiled before and edited since; it keeps {', '.join(edited)} as "
            f"edited, until: tflgpu edit {result.path} KERNEL --revert"
        )
    for text in _warnings(result, search):
        warn(text)
    table = properties(plan.model, _rows(plan, result.report, tuning), "property", "value")
    said = {"path": result.path, **result.report, "tuning": tuning or None}
    Answer(said, [table, str(result.path)]).print()


def _warnings(result: Result, search: bool) -> Iterator[str]:
    """What to know about a compilation of this run."""
    if result.report is None:
        return
    tuning = result.task.options.tuning
    if tuning and not (search or result.report["tuned"]):
        device = read_table(Path(tuning)).device
        yield (
            f"{tuning}, measured on {device}, has no sizes for kernels of "
            f"this model; --tune searches for them"
        )
    yield from fallback_texts(result.report)


def _rows(plan: Plan, report: Mapping[str, Any], tuning: str) -> list[tuple[str, object]]:
    applied = sum(event["applied"] for event in report["passes"])
    return [
        ("operators in", report["operators"]),
        ("rewrites", f"{applied} applied, {len(report['passes']) - applied} declined"),
        *(
            (
                "compiled for",
                f"{choice}: {each['kernels']} kernels, memory {decimal(each['memory']['planned'])}",
            )
            for choice, each in zip(
                described_choices(plan), (report, *report.get("specializations", ())), strict=True
            )
            if plan.specializations
        ),
        ("kernels out", kernels_in_launches(plan)),
        *(
            ("in Python" if part.function else "on LiteRT", f"{part.file}: {operators_of(part)}")
            for part in plan.parts
        ),
        ("arithmetic", f"{report['flops'] / 1e6:,.1f} million operations"),
        ("bytes moved", decimal(report["bytes_moved"])),
        ("memory", memory_of(plan)),
        ("weights", decimal(plan.weights_size)),
        ("for", f"{plan.target}, {plan.precision}, {plan.profile}"),
        *(
            ("kept in single precision", f"{len(kept)}: {', '.join(map(str, kept))}")
            for kept in [json.loads(plan.options)["keep_f32"]]
            if kept
        ),
        *(("tuning", f"{name}, {report['tuned']} kernels") for name in [tuning] if name),
    ]


def passphrases() -> Ask | None:
    """What asks for passphrases, which the terminal does not show; None without a terminal."""
    return _ask if sys.stdin.isatty() and sys.stderr.isatty() else None


def _ask(path: Path) -> str:
    answer: str = click.prompt(
        f"Passphrase of {path}", hide_input=True, default="", show_default=False, err=True
    )
    return answer
