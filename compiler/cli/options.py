"""Arguments and options shared by several commands: their types, and what their texts mean.

Paths, URLs, and names of devices have types of their own, for the shell to complete.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ...runtime.remote.url import is_url, without_password
from ..devices import profiles
from ..devices.attached import devices_here
from ..errors import OptionError
from ..formats import PICTURES, SCORES


class FilePath(click.Path):
    """A path that must not be empty, as it would be with an unset shell variable.

    It must end in one of `suffixes`, in small or capital letters, unless there are none.
    """

    def __init__(self, suffixes: Sequence[str] = ()) -> None:
        super().__init__(path_type=Path)
        self._suffixes = tuple(suffixes)

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if not value:
            self.fail("the path is empty", parameter, context)
        if is_url(value):
            self.fail(
                f"{without_password(value)} is a URL; this takes a path. `tflgpu-compile -o`, "
                f"`tflgpu run`, `tflgpu cache` and `tflgpu.load` take URLs",
                parameter,
                context,
            )
        if self._suffixes and Path(value).suffix.lower() not in self._suffixes:
            known = "one of " * (len(self._suffixes) > 1) + ", ".join(self._suffixes)
            self.fail(f"{value} must end in {known}", parameter, context)
        return super().convert(value, parameter, context)


class Number(click.FloatRange):
    """A number in a range; NaN, which is beyond no limit, and infinity are not."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        number = super().convert(value, parameter, context)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number", parameter, context)
        return number


class CachePlace(FilePath):
    """A cache: the path of a folder, or the URL of a store as a string."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        if is_url(value):
            return value
        return super().convert(value, parameter, context)


class DeviceName(click.types.StringParamType):
    """Part of the name of an attached device, the name of a profile, or either."""

    def __init__(self, attached: bool = True, profile: bool = True) -> None:
        self._attached, self._profile = attached, profile

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> str:
        """The name; a usage error for a profile where only an attached device can be meant."""
        name = str(super().convert(value, parameter, context))
        if not self._profile and name in profiles():
            attached = [str(device) for device in devices_here()]
            if not any(name.lower() in device.lower() for device in attached):
                listed = "".join(f"\n  {device}" for device in attached)
                self.fail(
                    f"{name} is a device profile, which kernels are compiled for; this runs on an "
                    f"attached device, of which there are:{listed or ' none'}",
                    parameter,
                    context,
                )
        return name

    def shell_complete(
        self, context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Profiles, and the first word of each attached device's name, which is enough of it."""
        found = [CompletionItem("auto", help="the best device")] if self._attached else []
        if self._profile:
            found += [CompletionItem(n, help=p.description) for n, p in profiles().items()]
        if self._attached:
            found += _attached()
        return [item for item in found if str(item.value).startswith(incomplete)]


def _attached() -> list[CompletionItem]:
    return [CompletionItem(each.name.split()[0], help=str(each)) for each in devices_here()]


def parsed(parse: Callable[[Any], object]) -> Callable[..., object]:
    """The callback of an option that has its value, or values, parsed."""
    return lambda context, parameter, value: parse(value)


def parse_choice(values: Sequence[str]) -> dict[str, tuple[int, ...]]:
    pairs = parse_shapes(values)
    if len(dict(pairs)) < len(pairs):
        raise click.BadParameter("an input is named twice; give one choice of shapes")
    return dict(pairs)


def parse_numbers(value: str | None) -> tuple[float, ...]:
    """Numbers separated by slashes, as in formats; () for None."""
    try:
        return tuple(map(float, value.split("/"))) if value is not None else ()
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a number, or one for each channel") from error


def parse_list(value: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in value.split(","))))


def parse_shapes(values: Sequence[str]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """(name, shape) of each value such as name=1,224,224,3."""
    return tuple(map(_parse_shape, values))


def _parse_shape(value: str) -> tuple[str, tuple[int, ...]]:
    name, equals, sizes = value.rpartition("=")
    try:
        shape = tuple(int(size) for size in sizes.split(","))
    except ValueError:
        shape = ()
    if not (equals and name and shape and min(shape) > 0):
        raise click.BadParameter(
            f"{value!r} is not of the form name=1,224,224,3 with sizes of at least 1"
        )
    return name, shape


def parse_operators(values: Sequence[str]) -> tuple[str | int, ...]:
    """Operator names as strings, and indices in the model file as integers."""
    return tuple(int(value) if value.isdecimal() else value for value in values)


def parse_kept(values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """(output, input) of each value such as cache_out=cache_in; a single name is both."""
    pairs = (value.partition("=") for value in values)
    return tuple((output, name if equals else output) for output, equals, name in pairs)


def parse_formats(
    parse: Callable[[str, str], object], values: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """(name, format) of each value such as image=rgba8; the name is empty if it is left out.

    `parse` raises an OptionError for a name and a format that it cannot read.
    """
    pairs = []
    for value in values:
        name, equals, text = value.partition("=")
        if value.partition(",")[0].strip() in (*PICTURES, *SCORES):
            name, text = "", value
        elif not equals:
            text, name = name, ""
        elif not (name and text):
            raise click.BadParameter(f"{value!r} is not of the form NAME=FORMAT or FORMAT")
        try:
            parse(name, text)
        except OptionError as error:
            raise click.BadParameter(str(error)) from error
        pairs.append((name, text))
    return tuple(pairs)


Function = Callable[..., Any]

model_argument = click.argument("model", type=FilePath())
models_argument = click.argument("models", nargs=-1, required=True, type=FilePath())
cache_argument = click.argument("cache", type=FilePath())


# In quotes, since the type takes no other before click 8.4.
def output_option(kind: "click.ParamType[Any]", text: str) -> Callable[[Function], Function]:
    """The option for the cache that a command writes."""
    return click.option(
        "-o", "--output", "cache", required=True, metavar="CACHE", type=kind, help=text
    )


shape_option = click.option(
    "--input-shape",
    "shapes",
    callback=parsed(parse_choice),
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


def together(*choices: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options, in the order in which the help of a command shows them."""

    def decorate(function: Function) -> Function:
        for choice in reversed(choices):
            function = choice(function)
        return function

    return decorate


def record_options(
    kind: type, name: str, *choices: Callable[[Function], Function]
) -> Callable[[Function], Function]:
    """Options that a command gets as one dataclass, which has a field for each of them."""

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(**given: Any) -> Any:
            record = kind(**{item.name: given.pop(item.name) for item in fields(kind) if item.init})
            return function(**{name: record}, **given)

        return together(*choices)(call)

    return decorate


# The options for where models are compiled.
fleet_options = together(
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Number of processes that compile; more than one needs the extra `fleet`.",
    ),
    scheduler_option,
)
