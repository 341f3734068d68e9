"""The types of kernels as GLSL names them, and their names in WGSL.

An array's type is that of its elements with [] after it.
"""

# For each what precedes `vec` in GLSL, its name in WGSL, and what follows `vec4` there, if so.
SCALARS = {
    "int": ("i", "i32", "i"),
    "uint": ("u", "u32", "u"),
    "float": ("", "f32", "f"),
    "bool": ("b", "bool", ""),
    "float16_t": ("f16", "f16", "h"),
}
_VECTORS = {
    f"{prefix}vec{count}": (kind, count)
    for kind, (prefix, *_) in SCALARS.items()
    for count in (2, 3, 4)
}


def lanes(type: str) -> int:
    """The number of lanes of a vector; 0 for a scalar."""
    return _VECTORS.get(type, (type, 0))[1]


def scalar(type: str) -> str:
    return _VECTORS.get(type, (type, 0))[0]


def vector(scalar: str, lanes: int) -> str:
    """A vector of a scalar type; the scalar itself for 0 or 1 lanes."""
    return f"{SCALARS[scalar][0]}vec{lanes}" if lanes > 1 else scalar


def known(type: str) -> bool:
    """Whether it is a type of a value."""
    return type in SCALARS or type in _VECTORS


def size(type: str) -> int:
    return max(lanes(type), 1) * (2 if scalar(type) == "float16_t" else 4)


def wgsl(type: str) -> str:
    """The name of a type of a value."""
    count, (_, name, letter) = lanes(type), SCALARS[scalar(type)]
    if not count:
        return name
    return f"vec{count}{letter}" if letter else f"vec{count}<{name}>"
