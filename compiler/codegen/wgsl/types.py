"""The types of kernels as GLSL names them, and their names in WGSL.

An array's type is that of its elements with [] after it.
"""

from __future__ import annotations

import re
from functools import cache

SCALARS = {"int": "i32", "uint": "u32", "float": "f32", "bool": "bool", "float16_t": "f16"}
_PREFIXES = {"": "float", "i": "int", "u": "uint", "b": "bool", "f16": "float16_t"}
_LETTERS = {"float": "f", "int": "i", "uint": "u", "float16_t": "h"}
_VECTOR = re.compile(r"(i|u|b|f16|)vec([234])$")


@cache
def lanes(type: str) -> int:
    """The number of lanes of a vector; 0 for a scalar."""
    found = _VECTOR.match(type)
    return int(found[2]) if found else 0


@cache
def scalar(type: str) -> str:
    """The type of a lane."""
    found = _VECTOR.match(type)
    return _PREFIXES[found[1]] if found else type


@cache
def vector(scalar: str, lanes: int) -> str:
    """A vector of a scalar type; the scalar itself for 0 or 1 lanes."""
    if lanes < 2:
        return scalar
    prefix = next(prefix for prefix, kind in _PREFIXES.items() if kind == scalar)
    return f"{prefix}vec{lanes}"


def known(type: str) -> bool:
    """Whether it is a type of a value."""
    return type in SCALARS or bool(_VECTOR.match(type))


@cache
def size(type: str) -> int:
    """Bytes of a value in memory."""
    return max(lanes(type), 1) * (2 if scalar(type) == "float16_t" else 4)


@cache
def wgsl(type: str) -> str:
    """The name of a type of a value."""
    count, kind = lanes(type), scalar(type)
    if not count:
        return SCALARS[kind]
    return f"vec{count}{_LETTERS[kind]}" if kind in _LETTERS else f"vec{count}<{SCALARS[kind]}>"
