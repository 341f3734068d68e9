"""`tflgpu run`: run a model on pictures, arrays or random numbers."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import numpy as np
from PIL import Image

from ...runtime.api import load_folder
from ...runtime.errors import InputError
from ...runtime.plan.records import TensorInfo
from ...runtime.session import Session
from ..frontend.metadata import parse_metadata
from ..ir import Array
from ..pictures.boxes import boxes_of
from ..pictures.candidates import LAYOUTS
from ..pictures.classes import Class, best_classes, scores_of
from ..pictures.drawing import Shown
from ..pictures.labels import read_labels
from ..pictures.outputs import Output, real_outputs
from ..pictures.picture_file import read_picture
from ..pictures.show import KINDS, shown_in
from ..tools.trace.events import Trace
from ..tools.trace.session import Observer
from ..tools.trace.summary import by_type, timed
from .input_arrays import RANDOM, assign, is_picture, picture_inputs, read_inputs, stored_shapes
from .options import attached_option, input_options, model_option, shape_option
from .paths import FilePath
from .printing import json_option
from .run_results import RunResult, summary
from .shell import Command, note, warn
from .tracing import trace_option, write_trace
from .user_cache import load_compiled
from .whole_file import write_whole

ARRAYS = ".npz"
PICTURES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".bmp": "BMP"}
"""Pillow's format by the suffix of --output."""

UNLABELED = ("image", "keypoints")
"""The kinds of --show that name no classes."""


@click.command(cls=Command, short_help="Run a model on pictures, arrays or random numbers.")
@click.argument("source", metavar="MODEL|CACHE", type=FilePath())
@click.argument("values", metavar="[[NAME=]FILE|random]...", nargs=-1)
@model_option
@shape_option
@attached_option
@input_options
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
    "--check", is_flag=True, help="Report an index that is out of bounds, instead of clamping it."
)
@trace_option
@json_option
def run(
    source: Path,
    values: tuple[str, ...],
    model: str | None,
    shapes: dict[str, tuple[int, ...]],
    device: str,
    named: tuple[str, ...],
    seed: int,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    labels: Path | None,
    output: Path | None,
    show: str | None,
    layout: str | None,
    check: bool,
    trace_file: Path | None,
    as_json: bool,
) -> None:
    """Run a model on pictures, .npy files or random numbers, and print what it computes.

    MODEL is a .tflite file, which is compiled into your own cache at the first run; CACHE is a
    cache folder or a variant's folder.
    """
    if source.is_file() and model is not None:
        raise click.UsageError(f"--model chooses from a cache, but {source} is a file")
    if layout and show not in (None, "boxes"):
        raise click.UsageError(f"--layout is that of boxes, but --show {show} is asked for")
    show = "boxes" if layout else show
    names = read_labels(labels) if labels is not None else ()
    _check_files((*values, *named))
    trace = Trace() if trace_file is not None else None
    observer = Observer(trace) if trace else None
    given = (*values, *named)

    def opened(folder: Path) -> Session:
        return load_folder(folder, model, device, watch=observer)

    compiled = source.is_file()
    with load_compiled(source, device, shapes, opened, trace) if compiled else opened(source) as s:
        session = _chosen(s, shapes, given)
        plan, place = session.plan, session.device
        metadata, pictures = parse_metadata(plan.metadata), picture_inputs(plan)
        arrays = read_inputs(given, session.inputs, seed, metadata, mean, std, pictures)
        picture, size = _picture(given, session.inputs)
        drawn = output is not None and output.suffix.lower() != ARRAYS
        if picture is None and (drawn or show):
            raise InputError(
                "there is no picture to draw over: exactly one input must be a picture"
            )
        results = (
            observer.run(session, arrays, check) if observer else session.run(arrays, check=check)
        )
    infos = plan.outputs
    result = RunResult(place, plan, [summary(i, results[i.name]) for i in infos])
    outputs = real_outputs(infos, results, metadata)
    found = None
    if show or drawn:
        found = shown_in(outputs, names, show or "", layout or "", size)
    elif picture is not None and (boxes := boxes_of(outputs, names)):
        found = ("boxes", boxes)
    if found is not None:
        if names and found[0] in UNLABELED:
            warn(f"--labels is ignored: --show {found[0]} names no classes")
        result.kind, result.records = found[0], found[1].records()
    if found is None:
        result.classes = _classes(outputs, names, picture is not None)
    if output is not None:
        _write(output, results, found and found[1], picture)
        result.written = output
    if trace is not None and trace_file is not None:
        write_trace(trace_file, trace, f"{plan.model} on {place.name}")
        result.types, result.trace = by_type(timed(trace.events)), trace_file
    result.print(as_json)


def _chosen(
    session: Session, shapes: Mapping[str, Sequence[int]], values: Sequence[str]
) -> Session:
    """The session for the input shapes, by default those of the arrays given (InputError)."""
    if len(session.input_shapes) == 1 and not shapes:
        return session
    if not shapes:
        shapes = stored_shapes(assign(values, session.inputs))
    return session.with_shapes(shapes or session.input_shapes[0])


def _check_files(values: Sequence[str]) -> None:
    """InputError if a file is missing, before a model is compiled for it."""
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
                f"--labels: no output has one score per class; the outputs are {listed}"
            )
        return []
    names, count = given or scores.labels, scores.values.size
    if not names:
        probable = scores.values.min() >= 0 and abs(scores.values.sum() - 1) < 0.05
        if not (picture and probable):
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
