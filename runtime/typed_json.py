"""Values from JSON that anyone may have written, checked against type hints.

type hint                       in JSON
int, float, str, bool, Any      that; a float may be a whole number
tuple[X, ...], Mapping[str, X]  a list, an object
tuple[X, Y]                     a list of as many
X | None                        an X, or null
a dataclass                     an object with its fields; others are ignored
Annotated[X, Form(...)]         an X of that form
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

_Kind = TypeVar("_Kind")


@dataclass(frozen=True)
class Form:
    """What values of a type must be beyond that."""

    name: str  # For messages, as in "is not a digest".
    holds: Callable[[Any], object]  # Whether a value is true for it is true.


def typed(kind: type[_Kind], value: Any) -> _Kind:
    """The value as a dataclass (ValueError that names the field at fault)."""
    found: _Kind = _typed(kind, value, "it")
    return found


_hints = cache(get_type_hints)


def _typed(hint: Any, value: Any, name: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if origin in (Union, UnionType):
        (own,) = (each for each in arguments if each is not NoneType)
        return None if value is None else _typed(own, value, name)
    if origin is Annotated:
        found = _typed(arguments[0], value, name)
        if not arguments[1].holds(found):
            raise ValueError(f"{found!r} is not a {arguments[1].name}")
        return found
    is_record = is_dataclass(hint)
    wanted = dict if is_record else {tuple: list, Mapping: dict}.get(origin, hint)
    if wanted is float and type(value) is int and abs(value) < 1 << 64:
        return float(value)
    fixed = origin is tuple and ... not in arguments
    if type(value) is not wanted or (fixed and len(value) != len(arguments)):
        raise ValueError(f"wrong type of {name}")
    if is_record:
        hints = _hints(hint, include_extras=True)
        required = (each.name for each in fields(hint) if each.default is MISSING)
        if missing := [name for name in required if name not in value]:
            raise ValueError(f"without {', '.join(missing)}")
        present = hints.keys() & value.keys()
        return hint(**{each: _typed(hints[each], value[each], each) for each in present})
    if origin is tuple:
        items = arguments if fixed else arguments[:1] * len(value)
        return tuple(_typed(item, each, name) for item, each in zip(items, value, strict=True))
    if origin is Mapping:
        key, item = arguments
        return {_typed(key, each, name): _typed(item, value[each], name) for each in value}
    return value
