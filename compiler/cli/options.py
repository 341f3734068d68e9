"""Arguments and options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from .device_names import DeviceName
from .parsing import parse_choice, parse_numbers
from .paths import FilePath

Function = Callable[..., Any]

model_argument = click.argument("model", type=FilePath())
models_argument = click.argument("models", nargs=-1, required=True, type=FilePath())
cache_argument = click.argument("cache", type=FilePath())


def output_option(kind: click.ParamType[Any], text: str) -> Callable[[Function], Function]:
    """The option for the cache that a command writes."""
    return click.option(
        "-o", "--output", "cache", required=True, metavar="CACHE", type=kind, help=text
    )


shape_option = click.option(
    "--input-shape",
    "shapes",
    callback=parse_choice,
    multiple=True,
    metavar="NAME=SIZES",
    help="Of a model compiled for several input shapes, those to take, such as image=4,224,224,3; "
    "default: the first.",
)

signature_option = click.option(
    "--signature",
    metavar="NAME",
    help="Of a model with several signatures, the one to take; default: the first.",
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
    return with_options(choices, function)


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
    return with_options(choices, function)


def with_options(choices: Sequence[Callable[[Function], Function]], function: Function) -> Function:
    """A command with options, in the order in which its help shows them."""
    for choice in reversed(choices):
        function = choice(function)
    return function
