"""`tflgpu run`: run a model on pictures, arrays or random numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from ....runtime.api import Loading, load_folder, located
from ....runtime.errors import InputError
from ....runtime.plan.records import TensorInfo
from ....runtime.remote.keys import Trust
from ....runtime.session import Session
from ...frontend.metadata import parse_metadata
from ...pictures.families import family_of
from ...pictures.outputs import real_outputs
from ...tools.trace.events import Trace, by_type, timed
from ...tools.trace.session import Observer
from ..chosen_variant import Wanted, wanted_options
from ..input_arrays import (
    RANDOM,
    InputValues,
    assign,
    input_options,
    is_picture,
    model_metadata,
    stored_shapes,
)
from ..options import CachePlace, attached_option
from ..printing import json_option
from ..run_results import RunResult, summary
from ..shell import Command
from ..showing import Picture, Showing, show_options
from ..stages import progress
from ..tracing import trace_option
from ..whole_file import check_folders, write_whole


@click.command(cls=Command, short_help="Run a model on pictures, arrays or random numbers.")
@click.argument("source", metavar="MODEL|CACHE|URL", type=CachePlace())
@click.argument("values", metavar="[[NAME=]FILE|random]...", nargs=-1)
@wanted_options
@attached_option
@input_options
@click.option(
    "--trust",
    multiple=True,
    metavar="KEY",
    help="For a store: public keys, or their files, one of which must have signed what runs; or "
    "anyone.",
)
@show_options
@click.option(
    "--check", is_flag=True, help="Report an index that is out of bounds, instead of clamping it."
)
@trace_option
@json_option
def run(
    source: Path | str,
    values: tuple[str, ...],
    wanted: Wanted,
    device: str,
    given: InputValues,
    trust: tuple[str, ...],
    showing: Showing,
    check: bool,
    trace_file: Path | None,
) -> None:
    """Run a model on pictures, .npy files or random numbers, and print what it computes.

    MODEL is a .tflite file, which is compiled into your own cache at the first run; CACHE is a
    cache folder or a variant's folder, and URL a store such as https://host/models.
    """
    file = source if isinstance(source, Path) and source.is_file() else None
    if file and wanted.model is not None:
        raise click.UsageError(f"--model chooses from a cache, but {source} is a file")
    given = replace(given, named=(*values, *given.named))
    check_folders(showing.output, trace_file)
    _check_files(given.named)
    trace = Trace() if trace_file is not None else None
    observer = Observer(trace) if trace else None

    def opened(folder: Path, model: str | os.PathLike[str] | None = None) -> Session:
        with progress() as show:
            told = observer or Loading(lambda step: show(step, 0, 1))
            return load_folder(folder, model, device, watch=told)

    if file:
        # What is compiled already is run without the compiler, which takes longer to import.
        from ...emit.tensors import inputs as inputs_of
        from ..user_cache import load_compiled, model_for

        # What is wrong with arguments is said before the model is compiled for seconds.
        graph, shapes = model_for(file, wanted.shapes, given.named, wanted.signature)
        wanted = replace(wanted, shapes=shapes)
        inputs, metadata = inputs_of(graph), model_metadata(file)
        family = family_of(file.name, [tensor.name for tensor in graph.tensors])
        arrays = given.read(inputs, metadata, family=family)
        picture = _picture(given.named, inputs)
        showing.check(picture)
        opening = load_compiled(file, device, shapes, opened, trace, wanted.signature)
    else:
        whom: Trust = "anyone" if "anyone" in trust else trust
        arrays, opening = {}, opened(*located(source, wanted.model, device, whom))
    with opening as s:
        session = _chosen(s, wanted, given.named)
        plan, place = session.plan, session.device
        if not file:
            arrays, metadata = given.read_for(plan), parse_metadata(plan.metadata)
            picture = _picture(given.named, plan.inputs)
            showing.check(picture)
        results = (
            observer.run(session, arrays, check) if observer else session.run(arrays, check=check)
        )
    result = RunResult(place, plan, [summary(i, results[i.name]) for i in plan.outputs])
    outputs = real_outputs(plan.outputs, results, metadata)
    shown = showing.add(result, outputs, picture)
    showing.write(results, shown, picture)
    result.written = showing.output
    if trace is not None and trace_file is not None:
        write_whole(trace_file, trace.as_json(f"{plan.model} on {place.name}").encode())
        result.types, result.trace = by_type(timed(trace.events)), trace_file
    result.answer().print()


def _chosen(session: Session, wanted: Wanted, values: Sequence[str]) -> Session:
    """The session for a signature, or the first, and for shapes, or the arrays' (InputError)."""
    shapes, signature = wanted.shapes, wanted.signature
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


def _picture(values: Sequence[str], inputs: Sequence[TensorInfo]) -> Picture | None:
    """The only picture among the inputs, each of which is known to take its source."""
    sources = assign(values, inputs)
    found = [(sources[info.name], info) for info in inputs if is_picture(sources[info.name])]
    if len(found) != 1:
        return None
    (source, info), *_ = found
    height, width = info.shape[-3:-1]
    return Picture(source, (height, width))
