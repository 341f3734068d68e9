"""`tflgpu export`: a compiled model as C99 that needs no Python."""

from __future__ import annotations

from pathlib import Path

import click

from ..export import RUNTIMES
from ..export import export as export_project
from .chosen_variant import newest_variant, variants_for
from .device_names import DeviceName
from .options import cache_argument, model_option, shape_option
from .paths import FilePath
from .printing import json_option, print_json
from .shell import Command, note


@click.command(cls=Command, short_help="Write a compiled model as C99.")
@cache_argument
@model_option
@shape_option
@click.option(
    "-o",
    "--output",
    required=True,
    type=FilePath(),
    metavar="DIR",
    help="The folder to write, which must be empty or not exist.",
)
@click.option("--name", required=True, metavar="NAME", help="Name of the C variable and its files.")
@click.option(
    "--backend",
    type=click.Choice(sorted(RUNTIMES.values())),
    help="The driver it runs on: only variants compiled for it are considered.",
)
@click.option(
    "--device",
    "profiles",
    type=DeviceName(attached=False),
    multiple=True,
    metavar="PROFILE",
    help="A device profile whose variant to export. With several, the program picks the one that "
    "suits its device. Default: the variant compiled last.",
)
@click.option(
    "--weights",
    type=click.Choice(["file", "embed"]),
    default="file",
    show_default=True,
    help="Leave the weights in weights.bin, or make them a part of the program.",
)
@json_option
def export(
    cache: Path,
    model: str | None,
    shapes: dict[str, tuple[int, ...]],
    output: Path,
    name: str,
    backend: str | None,
    profiles: tuple[str, ...],
    weights: str,
    as_json: bool,
) -> None:
    """Write the compiled model in CACHE as a C99 project, with its runtime and a demo.

    The model must have been compiled for OpenCL or GLSL, without parts on LiteRT.
    """
    target = next((target for target, runtime in RUNTIMES.items() if runtime == backend), None)
    if profiles:
        variants = variants_for(cache, model, target, profiles, shapes)
    else:
        variants = [newest_variant(cache, model, target, shapes)]
    export_project(variants, output, name, weights == "embed")
    for variant in variants:
        if variant.edited:
            note(f"{variant.folder} is edited: {', '.join(variant.edited)}")
    files = sorted(path.name for path in output.iterdir())
    if as_json:
        print_json({"folder": str(output), "files": files})
    else:
        click.echo(f"{output}: {', '.join(files)}")
