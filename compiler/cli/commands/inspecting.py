"""`tflgpu inspect`: show a compiled model; no device is needed."""

import sys
from dataclasses import asdict
from functools import partial
from operator import attrgetter, itemgetter
from pathlib import Path

import click
from rich.filesize import decimal
from rich.syntax import Syntax

from ....runtime.cache.variant import Variant
from ....runtime.errors import InputError
from ....runtime.input_shapes import choices_of, described_choices, signatures_of
from ....runtime.plan.kernels import Kernel
from ....runtime.plan.records import Dispatch, HostPart, Persistent, PlacedTensor, Plan, Region
from ....runtime.plan.storage import storage_of
from ...tools.editing.edit import find_kernel
from ...tools.machine_code import COMPILERS
from ..chosen_variant import Wanted, newest_variant, wanted_options
from ..machine_code import described, machine_code_answer
from ..options import FilePath, cache_argument
from ..printing import (
    JSON,
    Answer,
    Column,
    Listing,
    console,
    full_names_option,
    json_option,
    kernels_in_launches,
    memory_of,
    properties,
)
from ..shell import Command, asked_for
from ..writing_report import write_report

BAR = 32  # Characters that represent the whole arena in the memory map.


@full_names_option
@click.command(cls=Command, short_help="Show kernels, tensors and memory.")
@cache_argument
@wanted_options
@click.option(
    "--source", metavar="KERNEL", help="Print the kernel with this index or part of a name."
)
@click.option(
    "--html",
    type=FilePath(),
    metavar="FILE",
    help="Write everything to one HTML page: graph, kernels with their sources, memory, rewrites. "
    "Give the model's file with --model for its own graph and the reasons for each kernel.",
)
@click.option(
    "--profile",
    type=FilePath(),
    metavar="FILE",
    help="With --html: the times to show, from tflgpu benchmark MODEL --json > FILE.",
)
@click.option(
    "--compare",
    type=FilePath(),
    metavar="FILE|CACHE",
    help="With --html: another variant of the model, to list which kernels, bytes and launches "
    "have changed; or with --profile: an earlier profile of the model, on any device.",
)
@click.option(
    "--compiler",
    type=click.Choice(tuple(COMPILERS)),
    help=f"Show what a GPU's compiler makes of the kernels: {described()}.",
)
@json_option
def inspect(
    cache: Path,
    wanted: Wanted,
    source: str | None,
    html: Path | None,
    profile: Path | None,
    compare: Path | None,
    compiler: str | None,
) -> None:
    """Show the compiled model in CACHE, a cache folder or a variant's folder."""
    if source is not None and (html is not None or compiler is not None):
        raise click.UsageError("--source cannot be used together with --html or --compiler")
    if profile is not None and html is None:
        raise click.UsageError("--profile needs --html")
    if compare is not None and html is None:
        raise click.UsageError("--compare needs --html")
    if compare is not None and profile is None and not compare.is_dir():
        raise click.UsageError(
            f"--compare {compare} needs --profile, the times to compare with it; or name the "
            f"folder of another variant"
        )
    variant = newest_variant(cache, wanted)
    chosen = COMPILERS[compiler] if compiler else None
    if html is not None:
        write_report(variant, html, wanted.model, profile, compare, chosen)
        Answer({"path": variant.folder, "html": html}, [str(html)]).print()
    elif chosen is not None:
        machine_code_answer(variant, chosen).print()
    elif source is not None:
        _print_source(variant, _find_kernel(variant.plan, source))
    else:
        _answer(variant).print()


def _find_kernel(plan: Plan, wanted: str) -> Kernel:
    try:
        return plan.kernels[find_kernel(plan, wanted)]
    except InputError as error:
        raise click.BadParameter(str(error), param_hint="--source") from error


def _print_source(variant: Variant, kernel: Kernel) -> None:
    text = variant.sources[kernel.file]
    if asked_for(JSON):
        Answer({"name": kernel.name, "file": kernel.file, "source": text}).print()
    elif sys.stdout.isatty():
        language = "c" if variant.plan.target == "opencl" else "glsl"
        console().print(Syntax(text, language, background_color="default", word_wrap=True))
    else:
        click.echo(text, nl=not text.endswith("\n"))


def _answer(variant: Variant) -> Answer:
    plan = variant.plan
    dispatches, persistent, parts = _dispatches(plan), _persistent(plan), _parts(plan)
    shown = [_summary(variant), dispatches, persistent, parts, _tensors(plan)]
    return Answer(
        {
            "path": variant.folder,
            **{key: getattr(plan, key) for key in ("model", "fingerprint", "compiler")},
            **{key: getattr(plan, key) for key in ("target", "precision", "profile")},
            **{"inputs": plan.inputs, "outputs": plan.outputs},
            **{"signatures": signatures_of(plan), "input_shapes": choices_of(plan)},
            "memory": {
                **asdict(plan.memory),
                "arena": plan.arena_size,
                "weights": plan.weights_size,
            },
            "kernels": [
                {
                    **{key: getattr(kernel, key) for key in ("name", "file", "group")},
                    "edited": index in plan.edits,
                }
                for index, kernel in enumerate(plan.kernels)
            ],
            "dispatches": dispatches,
            "persistent": persistent,
            "parts": parts,
            "tensors": [
                {**asdict(tensor), "region": tensor.region.name.lower()} for tensor in plan.tensors
            ],
        },
        shown,
    )


def _summary(variant: Variant) -> Listing:
    plan = variant.plan
    rows = (
        ("model", plan.model),
        ("fingerprint", plan.fingerprint),
        ("for", f"{plan.target}, {plan.precision}, {plan.profile}"),
        ("compiler", plan.compiler),
        *(("input", f"{i.name} {i.dtype}{list(i.shape)}") for i in plan.inputs),
        *(("output", f"{o.name} {o.dtype}{list(o.shape)}") for o in plan.outputs),
        *(("signature", key) for key in [plan.signature] if key),
        *(("also for", text) for text in described_choices(plan)[1:]),
        ("kernels", kernels_in_launches(plan)),
        *([("edited by hand", ", ".join(variant.edited))] if plan.edits else []),
        ("operations", f"{sum(dispatch.flops for dispatch in plan.dispatches):,}"),
        ("weights", decimal(plan.weights_size)),
        ("memory", memory_of(plan)),
    )
    return properties(str(variant.folder), rows, "property", "value")


def _dispatches(plan: Plan) -> Listing:
    def name(row: tuple[int, Dispatch]) -> str:
        return plan.kernels[row[1].kernel].name

    def group(row: tuple[int, Dispatch]) -> tuple[int, int, int]:
        return plan.kernels[row[1].kernel].group

    columns = (
        Column("", "#", itemgetter(0), right=True),
        Column("label", "operators", lambda row: row[1].label, names=True),
        Column("kernel", "kernel", name, lambda row: f"{row[1].kernel} {name(row)}"),
        Column("grid", "grid", lambda row: row[1].grid, lambda row: _extent(row[1].grid)),
        Column("group", "group", group, lambda row: _extent(group(row))),
        Column("flops", "operations", lambda row: row[1].flops, "{:,}", right=True),
        Column("why", "reason for tile and group", lambda row: row[1].why),
        Column("operators", value=lambda row: row[1].operators),
    )
    return Listing("Dispatches", columns, [*enumerate(plan.dispatches)])


def _persistent(plan: Plan) -> Listing:
    def name(record: Persistent) -> str:
        return plan.kernels[record.kernel].name

    columns = (
        Column("", "dispatches", text=lambda record: f"{record.first} to {record.end - 1}"),
        Column("kernel", "kernel", name, lambda record: f"{record.kernel} {name(record)}"),
        Column("first"),
        Column("count"),
    )
    title = "Persistent kernels, each running several dispatches in one launch"
    return Listing(title, columns, plan.persistent)


def _parts(plan: Plan) -> Listing:
    def tensors(key: str, heading: str) -> Column:
        def names(part: HostPart) -> list[str]:
            return [plan.host_tensors[index].name for index in getattr(part, key)]

        return Column(key, heading, names, lambda part: ", ".join(names(part)), names=True)

    columns = (
        Column("label", "operators", names=True),
        Column("file", "file"),
        Column("before", "before dispatch", right=True),
        Column("operators"),
        tensors("inputs", "reads"),
        tensors("outputs", "writes"),
    )
    return Listing("Parts on the host", columns, plan.parts)


def _tensors(plan: Plan) -> Listing:
    """Where tensors are stored, for people."""
    columns = (
        Column("", "tensor", text=attrgetter("name"), names=True),
        Column("", "type", text=lambda tensor: f"{tensor.dtype}{list(tensor.shape)}"),
        Column("", "storage", text=storage_of),
        Column("", "location", text=_location),
        Column("", "bytes", text=attrgetter("size"), right=True),
        Column("", "alive", text=partial(_alive, len(plan.dispatches))),
        Column("", "in the arena", text=partial(_bar, plan.arena_size)),
    )
    rows = sorted(plan.tensors, key=lambda tensor: (tensor.first, tensor.offset))
    return Listing("Tensors, by when they are written", columns, rows)


def _extent(extent: tuple[int, int, int]) -> str:
    return " x ".join(map(str, extent))


def _location(tensor: PlacedTensor) -> str:
    if tensor.region is Region.ARENA:
        return f"+{tensor.offset}"
    return f"{tensor.region.name.lower()} {tensor.index}"


def _alive(count: int, tensor: PlacedTensor) -> str:
    """From which dispatch to which of so many."""
    first = "start" if tensor.first < 0 else tensor.first
    last = "end" if tensor.last >= count else tensor.last
    return f"{first}..{last}"


def _bar(arena: int, tensor: PlacedTensor) -> str:
    """A bar that shows a tensor's bytes in the arena; at least one character is filled."""
    if tensor.region is not Region.ARENA:
        return ""
    scale = BAR / max(arena, 1)
    start = min(int(tensor.offset * scale), BAR - 1)
    end = max(start + 1, round((tensor.offset + tensor.size) * scale))
    return "".join("#" if start <= place < end else "." for place in range(BAR))
