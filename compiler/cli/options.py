"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import wraps
from typing import Any

import click

from ..fleet.tasks import for_each
from ..keep_f32 import TOLERANCE
from ..options import FALLBACKS, NANS, PRECISIONS, TARGETS, Options
from .device_names import DeviceName
from .shell import FilePath

Function = Callable[..., Any]

_FIELDS = tuple(item.name for item in fields(Options))

model_argument = click.argument("model", type=FilePath())
models_argument = click.argument("models", nargs=-1, required=True, type=FilePath())
cache_argument = click.argument("cache", type=FilePath())


def output_option(kind: click.ParamType[Any], text: str) -> Callable[[Function], Function]:
    """The option for the cache that a command writes."""
    return click.option(
        "-o", "--output", "cache", required=True, metavar="CACHE", type=kind, help=text
    )


def parse_choice(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, tuple[int, ...]]:
    """The shapes of one choice, by name."""
    pairs = parse_shapes(context, parameter, values)
    if len(dict(pairs)) < len(pairs):
        raise click.BadParameter("an input is named twice; give one choice of shapes")
    return dict(pairs)


shape_option = click.option(
    "--input-shape",
    "shapes",
    callback=parse_choice,
    multiple=True,
    metavar="NAME=SIZES",
    help="Of a model compiled for several input shapes, those to take, such as image=4,224,224,3; "
    "default: the first.",
)

model_option = click.option(
    "--model",
    type=str,
    metavar="MODEL",
    help="The model's file, or its name or first digits of its fingerprint, as `tflgpu cache "
    "list` prints them; required if the cache contains several models.",
)


attached_option = click.option(
    "--device",
    type=DeviceName(profile=False),
    default="auto",
    show_default=True,
    help="Part of a device's name as `tflgpu devices` prints it.",
)


def input_options(function: Function) -> Function:
    """The options for input arrays: --input, --seed, and for pictures --mean and --std."""
    choices = (
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
            callback=parse_numbers,
            metavar="NUMBER[/...]",
            help="Subtracted from pixels (0..255), for all channels or each: 123.7/116.8/103.9. "
            "Default: with --std 0, else what the model's metadata says, or 0.",
        ),
        click.option(
            "--std",
            callback=parse_numbers,
            metavar="NUMBER[/...]",
            help="What pixels are then divided by. Default: with --mean 1, else the metadata's, or "
            "255.",
        ),
    )
    return _with(choices, function)


def parse_numbers(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[float, ...]:
    """Numbers separated by slashes, as in formats; () for None."""
    try:
        return tuple(map(float, value.split("/"))) if value is not None else ()
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a number, or one for each channel") from error


def parse_shapes(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """(name, shape) of each value such as name=1,224,224,3."""
    return tuple(map(_parse_shape, values))


def _parse_shape(value: str) -> tuple[str, tuple[int, ...]]:
    name, equals, sizes = value.rpartition("=")
    try:
        shape = tuple(int(size) for size in sizes.split(","))
    except ValueError:
        shape = ()
    if not (equals and name and shape and min(shape) > 0):
        raise click.BadParameter(f"{value!r} is not of the form name=1,224,224,3")
    return name, shape


def parse_operators(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str | int, ...]:
    """Operator names as strings, and indices in the model file as integers."""
    return tuple(int(value) if value.isdecimal() else value for value in values)


def parse_formats(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """(name, format) of each value such as image=rgba8."""
    pairs = []
    for value in values:
        name, _, text = value.partition("=")
        if not (name and text):
            raise click.BadParameter(f"{value!r} is not of the form NAME=FORMAT")
        pairs.append((name, text))
    return tuple(pairs)


def format_options(function: Function) -> Function:
    """The options for the formats of inputs and outputs: --input-format and --output-format."""
    choices = (
        click.option(
            "--input-format",
            "inputs",
            callback=parse_formats,
            multiple=True,
            metavar="NAME=FORMAT",
            help="Take an input as pictures of bytes, such as image=rgba8,size=1920x1080,"
            "resize=bilinear,mean=127.5,std=127.5; the device crops, resizes and normalizes.",
        ),
        click.option(
            "--output-format",
            "outputs",
            callback=parse_formats,
            multiple=True,
            metavar="NAME=FORMAT",
            help="What to make of an output: softmax, argmax, or pictures such as "
            "rgba8,mean=127.5,std=127.5.",
        ),
    )
    return _with(choices, function)


def compile_options(
    fallback: str, several: bool = False, runs: bool = False
) -> Callable[[Function], Function]:
    """The options of a compilation, passed to the command as an `Options` named `options`.

    With `several`, --device and --precision can be repeated, and the command gets a list of
    `Options`. A command that `runs` the model has no --custom-op, because no application is there
    to compute it.
    """
    repeated = " Can be repeated." if several else ""
    custom_ops = click.option(
        "--custom-op",
        "custom_ops",
        multiple=True,
        metavar="NAME",
        help="An operator that a function of the application computes, as given to `load`.",
    )
    choices = (
        click.option(
            "--target",
            type=click.Choice(TARGETS),
            default="opencl",
            show_default=True,
            help="Language of the kernels.",
        ),
        click.option(
            "--precision",
            type=click.Choice(PRECISIONS),
            default=["f32"] if several else "f32",
            multiple=several,
            show_default=True,
            help="f16 and f32_f16 store weights and activations in half precision; with f16, "
            "layers also compute in it where the device profile says so." + repeated,
        ),
        click.option(
            "--keep-f32",
            callback=parse_operators,
            multiple=True,
            metavar="NAME|INDEX|auto",
            help="An operator, or a tensor it computes, to keep in single precision although "
            "others are in half; `auto` lets compile and verify search for the fewest.",
        ),
        click.option(
            "--nan",
            type=click.Choice(NANS),
            default="keep",
            show_default=True,
            help="With any, RELU and other limits need not hand NaN on, which is faster.",
        ),
        click.option(
            "--device",
            type=DeviceName(),
            default=["auto"] if several else "auto",
            multiple=several,
            show_default=True,
            help="Part of a device's name as `tflgpu devices` prints it, or a device profile."
            + repeated,
        ),
        click.option(
            "--tuning",
            default="",
            metavar="FILE",
            help="A table of tuned tiles and work-groups, as `tflgpu compile --tune` writes it.",
        ),
        click.option(
            "--fallback",
            type=click.Choice(FALLBACKS),
            default=fallback,
            show_default=True,
            help="Where to run operators that the device cannot; with `none` they are an error.",
        ),
        click.option(
            "--fallback-op",
            "fallback_ops",
            callback=parse_operators,
            multiple=True,
            metavar="NAME|INDEX",
            help="An operator to run on LiteRT in any case.",
        ),
        *(() if runs else (custom_ops,)),
        click.option(
            "--signature",
            default="",
            metavar="NAME",
            help="The model's signature to compile, which also names inputs and outputs.",
        ),
        click.option(
            "--input-shape",
            "input_shapes",
            callback=parse_shapes,
            multiple=True,
            metavar="NAME=SIZES",
            help="A shape for an input that replaces the model's, such as image=1,224,224,3."
            " Repeat it to compile for several: the first shapes of all inputs named are one "
            "choice, the second ones the next, and so on.",
        ),
        click.option(
            "--disable-pass",
            "disable_passes",
            multiple=True,
            metavar="NAME",
            help="A rewrite to leave out; `tflgpu explain` lists them.",
        ),
    )

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(**given: Any) -> Any:
            chosen = {name: given.pop(name) for name in _FIELDS if name in given}
            if not several:
                return function(options=Options(**chosen), **given)
            devices, precisions = (
                dict.fromkeys(chosen.pop(name)) for name in ("device", "precision")
            )
            kept = chosen.pop("keep_f32")
            options = for_each(Options(**chosen), devices, precisions, kept)
            return function(options=options, **given)

        return _with(choices, call)

    return decorate


tolerance_option = click.option(
    "--tolerance",
    type=click.FloatRange(min=0.0, min_open=True),
    default=TOLERANCE,
    show_default=True,
    help="With --keep-f32 auto, the error allowed relative to the largest absolute value or to 1.",
)


scheduler_option = click.option(
    "--scheduler",
    default="",
    metavar="ADDRESS",
    help="Use the workers of this scheduler of Dask, such as tcp://host:8786.",
)


def fleet_options(function: Function) -> Function:
    """The options for where models are compiled: --jobs and --scheduler."""
    choices = (
        click.option(
            "--jobs",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Number of processes that compile; more than one needs the extra `fleet`.",
        ),
        scheduler_option,
    )
    return _with(choices, function)


def _with(choices: Sequence[Callable[[Function], Function]], function: Function) -> Function:
    """A command with options, in the order in which its help shows them."""
    for choice in reversed(choices):
        function = choice(function)
    return function
