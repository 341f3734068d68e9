"""From what programs pass as options to the tuples of `Options` (OptionError)."""

import os
from collections.abc import Iterable, Mapping
from operator import index
from typing import TypeVar

from .errors import OptionError

Item = TypeVar("Item")


def listed(name: str, value: Iterable[Item]) -> tuple[Item, ...]:
    """Several values; a text is one, although it could be taken apart."""
    if isinstance(value, (str, bytes, os.PathLike)) or not isinstance(value, Iterable):
        one = os.fspath(value) if isinstance(value, os.PathLike) else value
        raise OptionError(f"{name}={value!r}: give a list, such as [{one!r}]")
    return tuple(value)


def signatures(value: str | Iterable[str]) -> tuple[str, ...]:
    """The name of a signature, or several; the empty name stands for none."""
    if isinstance(value, str):
        return (value,) if value else ()
    return listed("signature", value)


def formats(name: str, value: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Formats of inputs or outputs, by name."""
    if value is not None and not isinstance(value, Mapping):
        raise OptionError(
            f"{name}={value!r}: give formats by the names of {name}, such as {{'image': 'rgba8'}}"
        )
    return tuple((value or {}).items())


def kept(value: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    """Outputs, each with the input that it updates."""
    if value is not None and not isinstance(value, Mapping):
        raise OptionError(
            f"keep={value!r}: give the input that each output updates, such as "
            f"{{'cache_out': 'cache_in'}}"
        )
    return tuple((value or {}).items())


def shapes(
    value: Mapping[str, Iterable[int]] | Iterable[Mapping[str, Iterable[int]]],
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Input shapes by name, of one choice or of several."""
    found = []
    try:
        for choice in [value] if isinstance(value, Mapping) else value:
            found += [(name, tuple(map(index, shape))) for name, shape in choice.items()]
    except (AttributeError, TypeError) as error:
        raise OptionError(
            f"input_shapes={value!r}: give shapes by the names of inputs, such as "
            f"{{'image': (1, 224, 224, 3)}}, or a list of such mappings"
        ) from error
    return tuple(found)
