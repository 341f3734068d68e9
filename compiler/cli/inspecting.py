"""`tflgpu inspect`: show a compiled model; no device is needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.filesize import decimal
from rich.syntax import Syntax

from ...runtime.cache.variant import Variant
from ...runtime.errors import InputError
from ...runtime.input_shapes import choices_of, described_choices, signatures_of
from ...runtime.plan.kernels import Kernel
from ...runtime.plan.records import PlacedTensor, Plan, Region
from ...runtime.plan.storage import storage_of
from ..tools.editing.edit import find_kernel
from ..tools.machine_code import COMPILERS
from .chosen_variant import newest_variant
from .machine_code import described, print_machine_code
from .options import cache_argument, model_option, shape_option, signature_option
from .paths import FilePath
from .printing import (
    console,
    full_names_option,
    json_option,
    kernels_in_launches,
    print_json,
    print_table,
)
from .shell import Command
from .writing_report import write_report

BAR = 32
"""Characters that represent the whole arena in the memory map."""


@full_names_option
@click.command(cls=Command, short_help="Show kernels, tensors and memory.")
@cache_argument
@model_option
@signature_option
@shape_option
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
    model: str | None,
    signature: str | None,
    shapes: dict[str, tuple[int, ...]],
    source: str | None,
    html: Path | None,
    profile: Path | None,
    compare: Path | None,
    compiler: str | None,
    as_json: bool,
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
    variant = newest_variant(cache, model, shapes=shapes, signature=signature)
    chosen = COMPILERS[compiler] if compiler else None
    if html is not None:
        write_report(variant, html, model, profile, compare, chosen)
        if as_json:
            print_json({"path": variant.folder, "html": html})
        else:
            click.echo(html)
    elif chosen is not None:
        print_machine_code(variant, chosen, as_json)
    elif source is not None:
        _print_source(variant, _find_kernel(variant.plan, source), as_json)
    elif as_json:
        print_json(_as_dict(variant))
    else:
        _print_plan(variant)


def _find_kernel(plan: Plan, wanted: str) -> Kernel:
    try:
        return plan.kernels[find_kernel(plan, wanted)]
    except InputError as error:
        raise click.BadParameter(str(error), param_hint="--source") from error


def _print_source(variant: Variant, kernel: Kernel, as_json: bool) -> None:
    text = variant.sources[kernel.file]
    if as_json:
        print_json({"name": kernel.name, "file": kernel.file, "source": text})
    elif sys.stdout.isatty():
        language = "c" if variant.plan.target == "opencl" else "glsl"
        console().print(Syntax(text, language, background_color="default", word_wrap=True))
    else:
        click.echo(text, nl=not text.endswith("\n"))


def _as_dict(variant: Variant) -> dict[str, Any]:
    plan = variant.plan
    return {
        "path": variant.folder,
        **{key: getattr(plan, key) for key in ("model", "fingerprint", "compiler")},
        **{key: getattr(plan, key) for key in ("target", "precision", "profile")},
        "inputs": [asdict(info) for info in plan.inputs],
        "outputs": [asdict(info) for info in plan.outputs],
        "signatures": signatures_of(plan),
        "input_shapes": choices_of(plan),
        "memory": {
            **asdict(plan.memory),
            "arena": plan.arena_size,
            "weights": plan.weights_size,
        },
        "kernels": [
            {
                "name": kernel.name,
                "file": kernel.file,
                "group": kernel.group,
                "edited": index in plan.edits,
            }
            for index, kernel in enumerate(plan.kernels)
        ],
        "dispatches": [
            {
                "label": dispatch.label,
                "kernel": plan.kernels[dispatch.kernel].name,
                "grid": dispatch.grid,
                "group": plan.kernels[dispatch.kernel].group,
                "flops": dispatch.flops,
                "why": dispatch.why,
                "operators": dispatch.operators,
            }
            for dispatch in plan.dispatches
        ],
        "persistent": [
            {
                "kernel": plan.kernels[record.kernel].name,
                "first": record.first,
                "count": record.count,
            }
            for record in plan.persistent
        ],
        "parts": [
            {
                "label": part.label,
                "file": part.file,
                "before": part.before,
                "operators": part.operators,
                "inputs": [plan.host_tensors[index].name for index in part.inputs],
                "outputs": [plan.host_tensors[index].name for index in part.outputs],
            }
            for part in plan.parts
        ],
        "tensors": [
            {**asdict(tensor), "region": tensor.region.name.lower()} for tensor in plan.tensors
        ],
    }


def _print_plan(variant: Variant) -> None:
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
        (
            "memory",
            f"{decimal(plan.memory.planned)} (without sharing {decimal(plan.memory.naive)}, "
            f"lower bound {decimal(plan.memory.lower_bound)})",
        ),
    )
    print_table(str(variant.folder), ("property", "value"), rows)
    _print_dispatches(plan)
    print_table(
        "Persistent kernels, each running several dispatches in one launch",
        ("dispatches", "kernel"),
        [
            (
                f"{record.first} to {record.end - 1}",
                f"{record.kernel} {plan.kernels[record.kernel].name}",
            )
            for record in plan.persistent
        ],
    )
    print_table(
        "Parts on the host",
        ("operators", "file", "before dispatch", "reads", "writes"),
        [
            (part.label, part.file, part.before, *map(_named(plan), (part.inputs, part.outputs)))
            for part in plan.parts
        ],
        right=("before dispatch",),
        names=("operators", "reads", "writes"),
    )
    print_table(
        "Tensors, by when they are written",
        ("tensor", "type", "storage", "location", "bytes", "alive", "in the arena"),
        [_tensor_row(plan, t) for t in sorted(plan.tensors, key=lambda t: (t.first, t.offset))],
        right=("bytes",),
        names=("tensor",),
    )


def _named(plan: Plan) -> Callable[[Sequence[int]], str]:
    """The names of tensors that parts on the host read or write."""
    return lambda indices: ", ".join(plan.host_tensors[index].name for index in indices)


def _print_dispatches(plan: Plan) -> None:
    print_table(
        "Dispatches",
        ("#", "operators", "kernel", "grid", "group", "operations", "reason for tile and group"),
        [
            (
                index,
                dispatch.label,
                f"{dispatch.kernel} {plan.kernels[dispatch.kernel].name}",
                _extent(dispatch.grid),
                _extent(plan.kernels[dispatch.kernel].group),
                f"{dispatch.flops:,}",
                dispatch.why,
            )
            for index, dispatch in enumerate(plan.dispatches)
        ],
        right=("#", "operations"),
        names=("operators",),
    )


def _extent(extent: tuple[int, int, int]) -> str:
    return " x ".join(map(str, extent))


def _tensor_row(plan: Plan, tensor: PlacedTensor) -> tuple[object, ...]:
    count = len(plan.dispatches)
    first = "start" if tensor.first < 0 else tensor.first
    last = "end" if tensor.last >= count else tensor.last
    arena = tensor.region is Region.ARENA
    place = f"+{tensor.offset}" if arena else f"{tensor.region.name.lower()} {tensor.index}"
    return (
        tensor.name,
        f"{tensor.dtype}{list(tensor.shape)}",
        storage_of(tensor),
        place,
        tensor.size,
        f"{first}..{last}",
        _bar(tensor, plan.arena_size) if arena else "",
    )


def _bar(tensor: PlacedTensor, arena: int) -> str:
    """A bar that shows a tensor's bytes in the arena; at least one character is filled."""
    scale = BAR / max(arena, 1)
    start = min(int(tensor.offset * scale), BAR - 1)
    end = max(start + 1, round((tensor.offset + tensor.size) * scale))
    return "".join("#" if start <= place < end else "." for place in range(BAR))
