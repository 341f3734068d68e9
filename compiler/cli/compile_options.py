"""The options of a compilation, for all commands that compile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any

import click

from ..fleet.tasks import for_each
from ..keep_f32 import TOLERANCE
from ..options import FALLBACKS, NANS, PRECISIONS, TARGETS, Options
from .options import Function, parse_formats, parse_kept, parse_operators, parse_shapes, together
from .paths import DeviceName

tolerance_option = click.option(
    "--tolerance",
    type=click.FloatRange(min=0.0, min_open=True),
    default=TOLERANCE,
    show_default=True,
    help="With --keep-f32 auto, the error allowed relative to the largest absolute value or to 1.",
)

_FIELDS = tuple(item.name for item in fields(Options))


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
            "others are in half; `auto` lets compile, tune and verify search for few.",
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
            "--signatures",
            "signature",
            multiple=True,
            metavar="NAME|all",
            help="A signature of the model to compile, which also names inputs and outputs. "
            "Repeat it for several, or give `all`: they share the weights.",
        ),
        click.option(
            "--input-shape",
            "input_shapes",
            callback=parse_shapes,
            multiple=True,
            metavar="NAME=SIZES",
            help="A shape for an input that replaces the model's, such as image=1,224,224,3; with "
            "several signatures also decode/tokens=1,1. Repeat it for several choices: the first "
            "shapes of all inputs named are one choice, the second ones the next, and so on.",
        ),
        click.option(
            "--cut-tables",
            is_flag=True,
            help="With --input-shape, let constants along an axis that is shorter now keep their "
            "first entries alone, as is right for positions and masks.",
        ),
        click.option(
            "--keep",
            callback=parse_kept,
            multiple=True,
            metavar="OUTPUT[=INPUT]",
            help="An output that stays on the device as the input that it updates, by default of "
            "the same name, such as cache_out=cache_in; or 'kv_*', with `*` for any text.",
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

        return together(*choices)(call)

    return decorate


format_options = together(
    click.option(
        "--input-format",
        "inputs",
        callback=parse_formats,
        multiple=True,
        metavar="[NAME=]FORMAT",
        help="Take an input as pictures of bytes, such as image=rgba8,size=1920x1080,"
        "resize=bilinear,mean=127.5,std=127.5; the device crops, resizes and normalizes. "
        "NAME may be omitted if there is only one input.",
    ),
    click.option(
        "--output-format",
        "outputs",
        callback=parse_formats,
        multiple=True,
        metavar="[NAME=]FORMAT",
        help="What to make of an output: softmax, argmax, or pictures such as "
        "rgba8,mean=127.5,std=127.5.",
    ),
)
"""The options for what inputs and outputs become."""
