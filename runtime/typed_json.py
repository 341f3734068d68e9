"""Values from JSON that anyone may have written, checked against type hints.

type hint                       in JSON
int, float, str, bool, Any      that; a float may be a whole number
tuple[X, ...], Mapping[str, X]  a list, an object
a dataclass                     an object with its fields; others are ignored
Annotated[X, Form(...)]         an X of that form
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Form:
    """What values of a type must be beyond that."""

    name: str
    """For messages, as in "is not a digest"."""
    holds: Callable[[Any], object]
    """Whether a value is true for it is true."""


def typed(kind: type[_Kind], value: Any) -> _Kind:
    """The value as a dataclass (ValueError that names the field at fault)."""
    found: _Kind = _typed(kind, value, "it")
    return found


_hints = cache(get_type_hints)


def _typed(hint: Any, value: Any, name: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin is Annotated:
        found = _typed(arguments[0], value, name)
        if not arguments[1].holds(found):
            raise ValueError(f"{found!r} is not a {arguments[1].name}")
        return found
    is_record = is_dataclass(hint)
    wanted = dict if is_record else {tuple: list, Mapping: dict}.get(origin, hint)
    if wanted is float and type(value) is int and abs(value) < 1 << 64:
        return float(value)
    if type(value) is not wanted:
        raise ValueError(f"wrong type of {name}")
    if is_record:
        hints = _hints(hint, include_extras=True)
        required = (each.name for each in fields(hint) if each.default is MISSING)
        if missing := [name for name in required if name not in value]:
            raise ValueError(f"without {', '.join(missing)}")
        present = hints.keys() & value.keys()
        return hint(**{each: _typed(hints[each], value[each], each) for each in present})
    if origin is tuple:
        return tuple(_typed(arguments[0], each, name) for each in value)
    if origin is Mapping:
        key, item = arguments
        return {_typed(key, each, name): _typed(item, value[each], name) for each in value}
    return value
