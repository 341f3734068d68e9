"""Arrays for a model's inputs from the option --input: pictures, .npy files or random numbers."""

from __future__ import annotations

import json
import os
from collections import ChainMap
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tokenize import TokenError

import click
import numpy as np

from ...runtime.errors import InputError
from ...runtime.execution.inputs import advice
from ...runtime.plan.records import Plan, TensorInfo
from ..errors import ModelError
from ..frontend.metadata import Metadata, parse_metadata, read_metadata
from ..ir import Array
from ..pictures.families import Family, family_of
from ..pictures.picture_file import picture_array
from ..pictures.scaling import Scaling, choose_scaling
from ..trial_input import LARGEST_RANDOM_INTEGER, largest_indices, random_input
from .options import parse_numbers, parsed, record_options
from .shell import note, warn

RANDOM = "random"  # The source that stands for random numbers.


def assign(values: Sequence[str], inputs: Sequence[TensorInfo]) -> dict[str, str]:
    """The source of each input, from values `name=source`, or `source` if there is only one input.

    A plain "random" applies to every input not named. InputError if an input does not exist, is
    given twice or not at all.
    """
    sources: dict[str, str] = {}
    others: str | None = None
    names = [info.name for info in inputs]
    for value in values:
        name, source = _split(value, names)
        if name is None and source == RANDOM:
            others = RANDOM
            continue
        if name is None and len(names) != 1:
            raise InputError(
                f"the model has several inputs, {', '.join(names)}; pass --input NAME={source}"
            )
        name = name or names[0]
        if name in sources:
            raise InputError(f"input {name} is given twice")
        sources[name] = source
    for name in names:
        source = sources.get(name) or others or ""
        if not source:
            raise InputError(
                f"input {name} has no value; pass --input {name}=FILE or --input {RANDOM}"
            )
        sources[name] = source
    return sources


def _split(value: str, names: Sequence[str]) -> tuple[str | None, str]:
    """A value as (name or None, source); names and file names may both contain an equals sign."""
    for name in sorted(names, key=len, reverse=True):
        if value.startswith(f"{name}="):
            return name, value[len(name) + 1 :]
    if value == RANDOM or "=" not in value or os.path.exists(value):
        return None, value
    name = value.partition("=")[0]
    raise InputError(f"the model has no input {name!r}; its inputs are {', '.join(names)}")


def model_metadata(model: Path) -> Metadata:
    """The metadata of a model file; empty, with a warning, if it is damaged."""
    try:
        return read_metadata(model)
    except ModelError as error:
        warn(f"the model's metadata is ignored: {error}")
        return Metadata()


@dataclass(frozen=True)
class InputValues:
    """What the options of a command say of the inputs of a model."""

    named: tuple[str, ...]  # Values as `assign` takes them.
    seed: int = 0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    def read(
        self,
        inputs: Sequence[TensorInfo],
        metadata: Metadata,
        pictures: Collection[str] = (),
        family: Family | None = None,
        largest: Mapping[str, int] | None = None,
    ) -> dict[str, Array]:
        """An array for each input (InputError if a file cannot be read or does not fit its input).

        A note on stderr says how the pixels of pictures are scaled, unless the input is one of the
        `pictures`; a warning, if it is a guess. Another warning says that `mean` and `std` are
        ignored if nothing is scaled. Random integers of an input are its `largest` at most.
        """
        sources = assign(self.named, inputs)
        scaled = {name for name, source in sources.items() if is_picture(source)} - set(pictures)
        if (self.mean or self.std) and not scaled:
            warn("--mean and --std are ignored: no picture is scaled here")
        generator = np.random.default_rng(self.seed)
        known = metadata.inputs if len(metadata.inputs) == len(inputs) else ()
        arrays = {}
        for n, info in enumerate(inputs):
            floats = info.dtype.startswith("float")
            usual = family.scaling if family and floats else None
            scaling = choose_scaling(known[n] if known else None, self.mean, self.std, usual)
            last = (largest or {}).get(info.name, LARGEST_RANDOM_INTEGER)
            arrays[info.name] = load(sources[info.name], info, generator, scaling, last)
            if info.name in scaled:
                # A wrong guess changes the answer; bytes are mostly taken as they are.
                tell = warn if floats and not scaling.source else note
                advised = (
                    "change this with --mean and --std"
                    if scaling.source
                    else "if the model takes -1..1: --mean 127.5 --std 127.5"
                )
                tell(f"{info.name}: {scaling.describe(info)} ({advised})")
        return arrays

    def read_for(self, plan: Plan) -> dict[str, Array]:
        """An array for each input of a compiled model, as `read` says."""
        metadata = parse_metadata(plan.metadata)
        formats = json.loads(plan.options).get("inputs", ())
        # Those of bytes, which the device scales.
        pictures = [name or plan.inputs[0].name for name, _ in formats]
        family = family_of(plan.model, [tensor.name for tensor in plan.tensors])
        return self.read(plan.inputs, metadata, pictures, family)

    def with_random(self) -> InputValues:
        """The same, with random numbers for inputs without a value."""
        return replace(self, named=(*self.named, RANDOM))

    def read_of(self, model: Path, inputs: Sequence[TensorInfo]) -> dict[str, Array]:
        """An array for each input of a model's file; those without a value are random."""
        # `run` takes a cache, and does without the compiler.
        from ..frontend.reader import read, read_signatures

        family = family_of(model.name, [info.name for info in inputs])
        keys = [each.key for each in read_signatures(model)]
        graphs = (read(model, signature=key) for key in (None, *keys))
        largest = ChainMap(*map(largest_indices, graphs))
        metadata = model_metadata(model)
        return self.with_random().read(inputs, metadata, family=family, largest=largest)


# The options for input arrays, which a command gets as `given`.
input_options = record_options(
    InputValues,
    "given",
    click.option(
        "--input",
        "named",
        multiple=True,
        metavar="[NAME=]FILE|random",
        help="A picture, a .npy file or random numbers for an input. NAME may be omitted if "
        "there is only one input; `random` without a name fills every input not given.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of random inputs.",
    ),
    click.option(
        "--mean",
        callback=parsed(parse_numbers),
        metavar="NUMBER[/...]",
        help="Subtracted from pixels (0..255), for all channels or each: 123.7/116.8/103.9. "
        "Default: with --std 0, else what the model's metadata says, or 0.",
    ),
    click.option(
        "--std",
        callback=parsed(parse_numbers),
        metavar="NUMBER[/...]",
        help="What pixels are then divided by. Default: with --mean 1, else the metadata's, or "
        "255.",
    ),
)


def is_picture(source: str) -> bool:
    return source != RANDOM and Path(source).suffix != ".npy"


def load(
    source: str,
    info: TensorInfo,
    generator: np.random.Generator,
    scaling: Scaling,
    largest: int = LARGEST_RANDOM_INTEGER,
) -> Array:
    """The array for one input: random numbers, a .npy file, or else a picture (InputError)."""
    if source == RANDOM:
        return random_input(info, generator, largest)
    if os.path.isdir(source):
        raise InputError(f"input {info.name}: {source} is a folder, not a file")
    if not os.path.isfile(source):
        raise InputError(f"input {info.name}: there is no file {source}")
    if Path(source).suffix == ".npz":
        raise InputError(f"input {info.name}: {source} is an archive of arrays; save one as .npy")
    return picture_array(source, info, scaling) if is_picture(source) else array_file(source, info)


def stored_shapes(sources: Mapping[str, str]) -> dict[str, tuple[int, ...]]:
    """The shapes of those sources, by input, that are .npy files."""
    found = {}
    for name, source in sources.items():
        if source != RANDOM and not is_picture(source):
            with suppress(OSError, ValueError, TokenError):  # as reading the array will say
                found[name] = np.lib.format.open_memmap(source, mode="r").shape
    return found


def array_file(path: str, info: TensorInfo) -> Array:
    """The content of a .npy file, with floats converted to the input's type (InputError).

    Strings are read from numpy's fixed-width strings, whose kind is S or U.
    """
    try:
        # np.load would also accept archives, and its errors advise loading pickles.
        with open(path, "rb") as file:
            array: Array = np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, OSError, MemoryError, TokenError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"input {info.name}: cannot read {path} as a .npy file: {reason}"
        ) from error
    text = info.dtype == "string"
    dtype = np.dtype(object if text else info.dtype)
    if (text and array.dtype.kind in "SU") or array.dtype.kind == dtype.kind == "f":
        with np.errstate(over="ignore"):
            array = array.astype(dtype)
    if array.shape != info.shape or array.dtype != dtype:
        form = (
            f"input {info.name}: {path} contains {array.dtype.name}{list(array.shape)}, but the "
            f"model takes {info.dtype}{list(info.shape)}"
        )
        raise InputError("; ".join([form, *advice(info, array.dtype, array.shape)]))
    return array
