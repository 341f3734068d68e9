"""`tflgpu export`: a compiled model as C99 or for browsers, which needs no Python."""

from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from ....runtime.plan.records import Plan
from ...export import BACKENDS, Pictures
from ...export import export as export_project
from ...frontend.metadata import parse_metadata
from ...pictures.families import DATA_SETS, family_of
from ...pictures.outputs import Output
from ...pictures.scaling import choose_scaling
from ...pictures.show import class_names
from ..chosen_variant import Wanted, newest_variant, variants_for, wanted_options
from ..options import DeviceName, FilePath, cache_argument
from ..printing import Answer, json_option
from ..shell import Command, note


@click.command(cls=Command, short_help="Write a compiled model as C99 or for browsers.")
@cache_argument
@wanted_options
@click.option(
    "-o",
    "--output",
    required=True,
    type=FilePath(),
    metavar="DIR",
    help="The folder to write, which must be empty or not exist.",
)
@click.option(
    "--name",
    required=True,
    metavar="NAME",
    help="Name of the model: in C, NAME_model is its variable and NAME_model.h its header; in "
    "JavaScript, NAME.js is its module.",
)
@click.option(
    "--backend",
    type=click.Choice(sorted(BACKENDS)),
    help="What it runs on: only variants compiled for it are considered. Default: what the "
    "variant was compiled for; of WGSL, web.",
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
    wanted: Wanted,
    output: Path,
    name: str,
    backend: str | None,
    profiles: tuple[str, ...],
    weights: str,
) -> None:
    """Write the compiled model in CACHE as C99 or for browsers, with its runtime and a demo.

    All its signatures are in it, on the same weights, unless --signature names one.
    With the backend web, kernels in WGSL become an ES module for browsers, with a page that shows
    what the model finds in pictures. The model must have been compiled for OpenCL, GLSL or WGSL,
    without parts on LiteRT.
    """
    target = BACKENDS[backend] if backend else None
    if profiles:
        variants = variants_for(cache, wanted, target, profiles)
    else:
        variants = [newest_variant(cache, wanted, target)]
    if wanted.signature or wanted.shapes:
        variants = [replace(each, plan=replace(each.plan, specializations=())) for each in variants]
    pictures = _pictures(variants[0].plan)
    export_project(variants, output, name, weights == "embed", pictures, backend)
    for variant in variants:
        if variant.edited:
            note(f"{variant.folder} is edited: {', '.join(variant.edited)}")
    files = sorted(path.name for path in output.iterdir())
    Answer({"folder": output, "files": files}, [f"{output}: {', '.join(files)}"]).print()


def _pictures(plan: Plan) -> Pictures:
    """What the model, or else its family, says about pictures."""
    metadata = parse_metadata(plan.metadata)
    family = family_of(plan.model, [tensor.name for tensor in plan.tensors])
    known = metadata.inputs[0] if metadata.inputs else None
    scaling = choose_scaling(known, family=family.scaling if family else None)
    labels = next((output.labels for output in metadata.outputs if output.labels), ())
    outputs = [Output(info.name, np.zeros(info.shape)) for info in plan.outputs]
    labels = labels or DATA_SETS.get(class_names(outputs, plan.model), ())
    return Pictures(scaling.mean, scaling.std, bool(scaling.source), labels)
