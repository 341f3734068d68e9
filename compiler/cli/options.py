"""Arguments and options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from .device_names import DeviceName
from .parsing import parse_choice
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
