"""The options of a compilation, for all commands that compile."""

from collections.abc import Callable
from dataclasses import fields
from functools import partial, wraps
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from ..fleet.tasks import for_each
from ..formats import input_format, output_format
from ..keep_f32 import TOLERANCE
from ..options import Options
from .options import (
    DeviceName,
    Function,
    Number,
    parse_formats,
    parse_kept,
    parse_operators,
    parse_shapes,
    parsed,
    together,
)

tolerance_option = click.option(
    "--tolerance",
    type=Number(min=0.0, min_open=True),
    default=TOLERANCE,
    show_default=True,
    help="With --keep-f32 auto, the error allowed relative to the largest absolute value or to 1.",
)

_FIELDS = {item.name: item for item in fields(Options)}
_HINTS = get_type_hints(Options)


def _option(
    name: str, text: str, flag: str = "", given: Any = None, repeated: bool = False, **more: Any
) -> Callable[[Function], Function]:
    """The option for a field of `Options`, which says what values it has, and its default."""
    default, hint = _FIELDS[name].default if given is None else given, _HINTS[name]
    if get_origin(hint) is Literal:
        more["type"] = click.Choice(get_args(hint))
    if hint is bool:
        more["is_flag"] = True
    return click.option(
        *(flag.split("/") if flag else [f"--{name.replace('_', '-')}"]),
        name,
        multiple=repeated or get_origin(hint) is tuple,
        default=[default] if repeated else default,
        show_default=bool(default),
        help=f"{text} Can be repeated." if repeated else text,
        **more,
    )


def target_options(several: bool = False) -> Callable[[Function], Function]:
    """The options that kernels of any graph depend on; with `several`, see `compile_options`."""
    return together(
        _option("target", "Language of the kernels."),
        _option(
            "precision",
            "f16 and f32_f16 store weights and activations in half precision; with f16, layers "
            "also compute in it where the device profile says so.",
            repeated=several,
        ),
        _option(
            "device",
            "Part of a device's name as `tflgpu devices` prints it, or a device profile.",
            repeated=several,
            type=DeviceName(),
        ),
    )


# The options for what numbers and sizes kernels compute with.
_kernel_options = together(
    _option(
        "keep_f32",
        "An operator, or a tensor it computes, to keep in single precision although others "
        "are in half; `auto` lets compile, tune and verify search for few.",
        metavar="NAME|INDEX|auto",
        callback=parsed(parse_operators),
    ),
    _option("nan", "With any, RELU and other limits need not hand NaN on, which is faster."),
    _option(
        "tuning",
        "A table of tuned tiles and work-groups, as `tflgpu compile --tune` writes it.",
        metavar="FILE",
    ),
)


def _host_options(fallback: str, runs: bool) -> Callable[[Function], Function]:
    """The options for what the device does not compute."""
    custom_ops = _option(
        "custom_ops",
        "An operator that a function of the application computes, as given to `load`.",
        "--custom-op",
        metavar="NAME",
    )
    return together(
        _option(
            "fallback",
            "Where to run operators that the device cannot; with `none` they are an error.",
            given=fallback,
        ),
        _option(
            "fallback_ops",
            "An operator to run on LiteRT in any case.",
            "--fallback-op",
            metavar="NAME|INDEX",
            callback=parsed(parse_operators),
        ),
        *(() if runs else (custom_ops,)),
    )


# The options for what the graph consists of.
_graph_options = together(
    _option(
        "signature",
        "A signature of the model to compile, which also names inputs and outputs. Repeat it "
        "for several, or give `all`: they share the weights.",
        "--signature/--signatures",
        metavar="NAME|all",
    ),
    _option(
        "input_shapes",
        "A shape for an input that replaces the model's, such as image=1,224,224,3; with "
        "several signatures also decode/tokens=1,1. Repeat it for several choices: the first "
        "shapes of all inputs named are one choice, the second ones the next, and so on.",
        "--input-shape",
        metavar="NAME=SIZES",
        callback=parsed(parse_shapes),
    ),
    _option(
        "cut_tables",
        "With --input-shape, let constants along an axis that is shorter now keep their first "
        "entries alone, as is right for positions and masks.",
    ),
    _option(
        "keep",
        "An output that stays on the device as the input that it updates, by default of the "
        "same name, such as cache_out=cache_in; or 'kv_*', with `*` for any text.",
        metavar="OUTPUT[=INPUT]",
        callback=parsed(parse_kept),
    ),
    _option(
        "disable_passes",
        "A rewrite to leave out; `tflgpu explain` lists them.",
        "--disable-pass",
        metavar="NAME",
    ),
)


def compile_options(
    fallback: str, several: bool = False, runs: bool = False
) -> Callable[[Function], Function]:
    """The options of a compilation, passed to the command as an `Options` named `options`.

    With `several`, --device and --precision can be repeated, and the command gets a list of
    `Options`. A command that `runs` the model has no --custom-op, because no application is there
    to compute it.
    """

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

        host_options = _host_options(fallback, runs)
        options = (target_options(several), _kernel_options, host_options, _graph_options)
        return together(*options)(call)

    return decorate


# The options for what inputs and outputs become.
format_options = together(
    _option(
        "inputs",
        "Take an input as pictures of bytes, such as 'image=rgba8, size=1920x1080, "
        "resize=bilinear, mean=127.5, std=127.5'; the device crops, resizes and normalizes. NAME "
        "may be omitted if there is only one input.",
        "--input-format",
        metavar="[NAME=]FORMAT",
        callback=parsed(partial(parse_formats, input_format)),
    ),
    _option(
        "outputs",
        "What to make of an output: softmax, argmax, or pictures such as 'rgba8, mean=127.5, "
        "std=127.5'.",
        "--output-format",
        metavar="[NAME=]FORMAT",
        callback=parsed(partial(parse_formats, output_format)),
    ),
)
