"""`tflgpu run`: run a compiled model on images, arrays or random numbers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from ... import runtime
from ...runtime.errors import InputError
from ...runtime.plan.records import TensorInfo
from ..ir import Array
from .input_arrays import Scaling, assign, is_image, load_inputs
from .options import cache_argument, input_options, model_option
from .shell import (
    Command,
    Failure,
    FilePath,
    json_option,
    operators_of,
    print_json,
    print_table,
    warn,
)
from .whole_file import write_whole

BEST = 5
"""Number of classes printed with --labels."""


@click.command(cls=Command)
@cache_argument
@model_option
@click.option(
    "--device",
    default="auto",
    show_default=True,
    help="Part of a device's name as `tflgpu devices` prints it.",
)
@input_options
@click.option(
    "--labels",
    type=FilePath(),
    help=f"A file of class names, one per line; prints the {BEST} most probable classes.",
)
@click.option("--output", type=FilePath(), help="Write all outputs to this .npz file.")
@click.option(
    "--check", is_flag=True, help="Report an index that is out of bounds, instead of clamping it."
)
@json_option
def run(
    cache: Path,
    model: str | None,
    device: str,
    values: tuple[str, ...],
    seed: int,
    mean: float,
    std: float,
    labels: Path | None,
    output: Path | None,
    check: bool,
    as_json: bool,
) -> None:
    """Run the compiled model in CACHE, a cache folder or a variant's folder."""
    names = [] if labels is None else _read_labels(labels)
    with runtime.load(cache, model, device=device) as session:
        arrays = read_inputs(values, session.inputs, seed, Scaling(mean, std))
        results = session.run(arrays, check=check)
        outputs, plan = session.outputs, session.plan
        places = [str(session.device)] if plan.dispatches else []
        places += ["LiteRT"] if plan.parts else []
    if output is not None:
        _write_arrays(output, results)
    best = _best(outputs, results, names) if names else []
    summaries = [_summary(info, results[info.name]) for info in outputs]
    if as_json:
        print_json(
            {
                "device": " and ".join(places),
                "fallback": [{"file": part.file, "operators": part.label} for part in plan.parts],
                "outputs": summaries,
                "classes": best,
                "output": output,
            }
        )
        return
    print_table(
        f"Outputs, computed on {' and '.join(places)}",
        ("output", "type", "shape", "min", "mean", "max"),
        [
            (
                s["name"],
                s["dtype"],
                s["shape"],
                *(f"{s[key]:.6g}" for key in ("min", "mean", "max")),
            )
            for s in summaries
        ],
        right=("min", "mean", "max"),
    )
    print_table(
        "Operators on LiteRT; `tflgpu explain MODEL --fallback litert` says why",
        ("part", "operators"),
        [(part.file, operators_of(part)) for part in plan.parts],
    )
    rows = [(item["label"], f"{item['score']:.6g}") for item in best]
    print_table("Most probable", ("class", "score"), rows, right=("score",))
    if output is not None:
        click.echo(output)


def read_inputs(
    values: Sequence[str], inputs: Sequence[TensorInfo], seed: int, scaling: Scaling
) -> dict[str, Array]:
    """The arrays for --input; a note on stderr says how the pixels of images are scaled."""
    sources = assign(values, inputs)
    generator = np.random.default_rng(seed)
    scaled = [
        info.name
        for info in inputs
        if is_image(sources[info.name]) and np.dtype(info.dtype).kind == "f"
    ]
    if scaled:
        warn(f"note: {', '.join(scaled)}: {scaling} (change this with --mean and --std)")
    return load_inputs(sources, inputs, generator, scaling)


def _read_labels(path: Path) -> list[str]:
    try:
        names = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise Failure(f"cannot read the labels in {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Failure(f"the labels in {path} are not UTF-8 text") from error
    if not names:
        raise Failure(f"{path} contains no labels; it must have one per line")
    return names


def _write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write an .npz file. Unlike numpy's writer, this one accepts any name, such as `file`."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
    write_whole(path, content.getvalue())


def _summary(info: TensorInfo, array: Array) -> dict[str, Any]:
    values = array.astype(np.float64) if array.size else np.array([np.nan])
    return {
        "name": info.name,
        "dtype": info.dtype,
        "shape": list(info.shape),
        "min": values.min(),
        "mean": values.mean(),
        "max": values.max(),
    }


def _best(
    outputs: Sequence[TensorInfo], results: Mapping[str, Array], labels: Sequence[str]
) -> list[dict[str, Any]]:
    """The best classes in the first output that has one score per class (InputError)."""
    for info in outputs:
        classes = info.shape[-1] if info.shape else 0
        if classes > 1 and results[info.name].size == classes:
            break
    else:
        listed = ", ".join(f"{info.name} {list(info.shape)}" for info in outputs)
        raise InputError(f"--labels: no output has one score per class; the outputs are {listed}")
    if classes > len(labels):
        raise InputError(
            f"--labels: output {info.name} has {classes} classes, but the file has {len(labels)} "
            f"labels"
        )
    if classes < len(labels):
        warn(f"warning: {len(labels)} labels for {classes} classes; is it the right file?")
    scores = results[info.name].reshape(-1).astype(np.float64)
    if info.scale:
        scores = (scores - info.zero_point) * info.scale
    order = np.argsort(-scores, kind="stable")[:BEST]
    return [{"index": i, "label": labels[i], "score": scores[i]} for i in map(int, order)]
