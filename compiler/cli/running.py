"""`tflgpu run`: run a model on pictures, arrays or random numbers."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import numpy as np
from PIL import Image

from ...runtime.api import Loading, load_folder, located
from ...runtime.errors import InputError
from ...runtime.plan.records import Plan, TensorInfo
from ...runtime.remote.keys import Trust
from ...runtime.session import Session
from ..frontend.metadata import Metadata, parse_metadata
from ..ir import Array
from ..pictures.boxes import LEAST_SCORE as LEAST_BOX
from ..pictures.boxes import boxes_of
from ..pictures.candidates import LAYOUTS
from ..pictures.drawing import Shown
from ..pictures.families import DATA_SETS, Family, family_of
from ..pictures.keypoints import LEAST_SCORE as LEAST_POINT
from ..pictures.outputs import (
    Class,
    Output,
    are_probabilities,
    best_classes,
    read_labels,
    real_outputs,
    scores_of,
)
from ..pictures.picture_file import read_picture
from ..pictures.show import KINDS, class_names, evidence, shown_in
from ..tools.trace.events import Trace
from ..tools.trace.session import Observer
from ..tools.trace.summary import by_type, timed
from .input_arrays import (
    RANDOM,
    InputValues,
    assign,
    input_options,
    is_picture,
    model_metadata,
    picture_inputs,
    stored_shapes,
)
from .options import attached_option, model_option, shape_option, signature_option
from .paths import CachePlace, FilePath
from .printing import json_option
from .run_results import RunResult, summary
from .shell import Command, note, warn
from .stages import progress
from .tracing import trace_option, write_trace
from .whole_file import check_folders, write_whole

ARRAYS = ".npz"
PICTURES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".bmp": "BMP"}
"""Pillow's format by the suffix of --output."""

UNLABELED = ("image", "keypoints")
"""The kinds of --show that name no classes."""
SCORED = ("boxes", "keypoints")
"""The kinds of --show that leave out what scores too little."""


@click.command(cls=Command, short_help="Run a model on pictures, arrays or random numbers.")
@click.argument("source", metavar="MODEL|CACHE|URL", type=CachePlace())
@click.argument("values", metavar="[[NAME=]FILE|random]...", nargs=-1)
@model_option
@signature_option
@shape_option
@attached_option
@input_options
@click.option(
    "--trust",
    multiple=True,
    metavar="KEY",
    help="For a store: public keys, or their files, one of which must have signed what runs; or "
    "anyone.",
)
@click.option(
    "--labels",
    type=FilePath(),
    help="A file of class names, one per line; default: those in the model's metadata.",
)
@click.option(
    "--output",
    type=FilePath((ARRAYS, *PICTURES)),
    metavar="FILE.npz|FILE.png",
    help="Write all outputs to a .npz file, or the picture with what they show.",
)
@click.option(
    "--show",
    type=click.Choice(list(KINDS)),
    help="What the outputs show of the picture; default: what their shapes suggest.",
)
@click.option(
    "--layout",
    type=click.Choice(list(LAYOUTS)),
    help="How candidates for boxes lie in the output of a detector without postprocessing; "
    "default: what its shape and the number of labels allow.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    help=f"The least score of boxes, {LEAST_BOX} by default, or of points that are drawn, "
    f"{LEAST_POINT} by default.",
)
@click.option(
    "--check", is_flag=True, help="Report an index that is out of bounds, instead of clamping it."
)
@trace_option
@json_option
def run(
    source: Path | str,
    values: tuple[str, ...],
    model: str | None,
    signature: str | None,
    shapes: dict[str, tuple[int, ...]],
    device: str,
    given: InputValues,
    trust: tuple[str, ...],
    labels: Path | None,
    output: Path | None,
    show: str | None,
    layout: str | None,
    threshold: float | None,
    check: bool,
    trace_file: Path | None,
) -> None:
    """Run a model on pictures, .npy files or random numbers, and print what it computes.

    MODEL is a .tflite file, which is compiled into your own cache at the first run; CACHE is a
    cache folder or a variant's folder, and URL a store such as https://host/models.
    """
    file = source if isinstance(source, Path) and source.is_file() else None
    if file and model is not None:
        raise click.UsageError(f"--model chooses from a cache, but {source} is a file")
    if layout and show not in (None, "boxes"):
        raise click.UsageError(f"--layout is that of boxes, but --show {show} is asked for")
    show = "boxes" if layout else show
    names = read_labels(labels) if labels is not None else ()
    given = replace(given, named=(*values, *given.named))
    check_folders(output, trace_file)
    _check_files(given.named)
    trace = Trace() if trace_file is not None else None
    observer = Observer(trace) if trace else None
    drawn = output is not None and output.suffix.lower() != ARRAYS

    def opened(folder: Path, model: str | os.PathLike[str] | None = None) -> Session:
        with progress() as show:
            told = observer or Loading(lambda step: show(step, 0, 1))
            return load_folder(folder, model, device, watch=told)

    def read(infos: Sequence[TensorInfo], known: Family | None, plan: Plan | None) -> Inputs:
        metadata = parse_metadata(plan.metadata) if plan else model_metadata(Path(source))
        pictures = () if plan is None else picture_inputs(plan)
        arrays = given.read(infos, metadata, pictures, known)
        picture, size = _picture(given.named, infos)
        if picture is None and (drawn or show):
            raise InputError(
                "there is no picture to draw over: exactly one input must be a picture"
            )
        return Inputs(arrays, picture, size, metadata)

    if file:
        # What is compiled already is run without the compiler, which takes longer to import.
        from .user_cache import fitting_shapes, load_compiled, model_inputs

        # What is wrong with arguments is said before the model is compiled for seconds.
        shapes = shapes or fitting_shapes(file, given.named, signature)
        infos, tensors = model_inputs(file, shapes, signature)
        inputs = read(infos, family_of(file.name, tensors), None)
        opening = load_compiled(file, device, shapes, opened, trace, signature)
    else:
        whom: Trust = "anyone" if "anyone" in trust else trust
        inputs, opening = None, opened(*located(source, model, device, whom))
    with opening as s:
        session = _chosen(s, signature, shapes, given.named)
        plan, place = session.plan, session.device
        if inputs is None:
            known = family_of(plan.model, [tensor.name for tensor in plan.tensors])
            inputs = read(session.inputs, known, plan)
        arrays = inputs.arrays
        results = (
            observer.run(session, arrays, check) if observer else session.run(arrays, check=check)
        )
    infos = plan.outputs
    result = RunResult(place, plan, [summary(i, results[i.name]) for i in infos])
    outputs = real_outputs(infos, results, inputs.metadata)
    found = _found(
        outputs,
        plan.model,
        names,
        show or "",
        layout or "",
        threshold,
        inputs=inputs,
        drawn=drawn,
    )
    if found is not None:
        if names and found[0] in UNLABELED:
            warn(f"--labels is ignored: --show {found[0]} names no classes")
        result.kind, result.records = found[0], found[1].records()
        result.nothing = found[1].nothing()
    if threshold is not None and (found is None or found[0] not in SCORED):
        warn("--threshold is ignored: neither boxes nor points are shown")
    if found is None:
        result.classes = _classes(outputs, names, inputs.picture is not None)
        scores = scores_of(outputs)
        result.probable = scores is not None and are_probabilities(scores)
        if inputs.picture is not None and not result.classes:
            _tell_what_could_be_drawn(outputs, names, inputs.size)
    if output is not None:
        _write(output, results, found and found[1], inputs.picture)
        result.written = output
    if trace is not None and trace_file is not None:
        write_trace(trace_file, trace, f"{plan.model} on {place.name}")
        result.types, result.trace = by_type(timed(trace.events)), trace_file
    result.answer().print()


@dataclass(frozen=True)
class Inputs:
    """The inputs of a run, and what they show."""

    arrays: Mapping[str, Array]
    picture: Path | None
    """The only picture among them."""
    size: tuple[int, int]
    """The height and width that it is scaled to; (1, 1) without one."""
    metadata: Metadata


def _found(
    outputs: Sequence[Output],
    file: str,
    names: Sequence[str],
    kind: str,
    layout: str,
    least: float | None,
    inputs: Inputs,
    drawn: bool,
) -> tuple[str, Shown] | None:
    """What the outputs show, if that is asked for or they are boxes; notes say what is guessed."""
    wanted = bool(kind or drawn)
    if not wanted and (inputs.picture is None or boxes_of(outputs, names) is None):
        return None
    data_set = "" if names else class_names(outputs, file)
    named = tuple(names) or DATA_SETS.get(data_set, ())
    looked_for = kind or ("" if wanted else "boxes")
    found = shown_in(outputs, named, looked_for, layout, inputs.size, least)
    if wanted and not kind:
        because = dict(evidence(outputs, names, inputs.size))[found[0]]
        note(f"shown as {found[0]}: {because}; --show {'|'.join(KINDS)} chooses")
    if data_set and found[0] == "mask":
        note(f"classes are named as in {data_set}, which is a guess; --labels FILE names them")
    return found


def _tell_what_could_be_drawn(
    outputs: Sequence[Output], names: Sequence[str], size: tuple[int, int]
) -> None:
    # Boxes that outputs can have are those that were looked for.
    found = [(kind, why) for kind, why in evidence(outputs, names, size) if kind != "boxes"]
    for kind, why in found[:1]:
        note(f"{why}; --show {kind} --output FILE.png draws it")


def _chosen(
    session: Session,
    signature: str | None,
    shapes: Mapping[str, Sequence[int]],
    values: Sequence[str],
) -> Session:
    """The session for a signature, by default the first, and for input shapes (InputError).

    By default the shapes are those of the arrays given.
    """
    session = session if signature is None else session.with_signature(signature)
    if len(session.input_shapes) == 1 and not shapes:
        return session
    if not shapes:
        shapes = stored_shapes(assign(values, session.inputs))
    return session.with_shapes(shapes or session.input_shapes[0])


def _check_files(values: Sequence[str]) -> None:
    """InputError if a file to read is missing."""
    for value in values:
        places = (value, value.partition("=")[2])
        if RANDOM not in places and not any(map(os.path.exists, places)):
            raise InputError(f"there is no file {value}")


def _picture(
    values: Sequence[str], inputs: Sequence[TensorInfo]
) -> tuple[Path | None, tuple[int, int]]:
    """The only picture among the inputs, each of which is known to take its source, and its size.

    The size is the height and width that it is scaled to.
    """
    sources = assign(values, inputs)
    found = [(sources[info.name], info) for info in inputs if is_picture(sources[info.name])]
    if len(found) != 1:
        return None, (1, 1)
    (source, info), *_ = found
    height, width = info.shape[-3:-1]
    return Path(source), (height, width)


def _classes(outputs: Sequence[Output], given: Sequence[str], picture: bool) -> list[Class]:
    """The best classes, if the outputs are scores of classes (InputError if labels do not fit)."""
    scores = scores_of(outputs)
    if scores is None:
        if given:
            listed = ", ".join(f"{output.name} {list(output.shape)}" for output in outputs)
            raise InputError(
                f"--labels: no output has one score per class; if they name boxes or a mask, add "
                f"--show boxes or --show mask; the outputs are {listed}"
            )
        return []
    names, count = given or scores.labels, scores.values.size
    if not names:
        if not (picture and are_probabilities(scores)):
            return []
        note("the model's metadata has no labels; give them with --labels FILE")
    elif count > len(names):
        raise InputError(
            f"--labels: output {scores.name} has {count} classes, but the file has {len(names)} "
            f"labels"
        )
    elif count < len(names):
        warn(f"{len(names)} labels for {count} classes; is it the right file?")
    return best_classes(scores, names)


def _write(
    path: Path, results: Mapping[str, Array], shown: Shown | None, picture: Path | None
) -> None:
    content = io.BytesIO()
    if path.suffix.lower() == ARRAYS:
        _write_arrays(content, results)
    else:
        assert shown is not None and picture is not None
        drawn: Image.Image = shown.draw(read_picture(str(picture)))
        drawn.save(content, PICTURES[path.suffix.lower()])
    write_whole(path, content.getvalue())


def _write_arrays(content: io.BytesIO, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file; strings become fixed-width bytes, which drops zeros at their ends.

    Unlike numpy's writer, this one accepts any name, such as `file`.
    """
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                plain = array.astype("S") if array.dtype.kind == "O" else np.asarray(array)
                np.lib.format.write_array(file, plain, allow_pickle=False)
