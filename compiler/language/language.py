"""What the kernel languages call the same things: the facts that the texts of kernels depend on.

What takes more than a name is an intrinsic, and the frames of kernels are templates of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Language:
    """The names of types in a kernel language; {S} in them is the number of lanes."""

    name: Literal["opencl", "glsl", "vulkan"]
    suffix: str
    """How the names of files end."""
    float_vector: str
    int_vector: str
    half_vector: str
    """The type that as many floats in half precision are stored in."""
    cast: str
    """A conversion to {type}; its argument follows in brackets."""
    vector_cast: str
    """The same of a vector to {type}, lane by lane."""
    unroll: str
    """What stands before a loop that is to be unrolled; empty where compilers take no such hint."""
    images: bool
    """Whether kernels can read images of buffers."""
    sub_groups: bool
    """Whether kernels can use sub-groups."""

    def element(self, kind: str, lanes: int) -> str:
        """The type of what an array holds: an int, a float, a slice of floats, or of halves."""
        if kind == "slice":
            return self.float_vector.format(S=lanes)
        return self.half_vector.format(S=lanes) if kind == "half" else kind

    def floats(self, lanes: int) -> str:
        return self.float_vector.format(S=lanes)

    def ints(self, lanes: int) -> str:
        return self.int_vector.format(S=lanes)

    def convert(self, kind: str, value: str) -> str:
        """A value of that type from another; a vector gets the same value in every lane."""
        return f"{self.cast.format(type=kind)}({value})"

    def casts(self, lanes: int) -> dict[str, str]:
        """Conversions to integers and to floats, of slices or, with 0 lanes, of single values."""
        if not lanes:
            return {"int": self.cast.format(type="int"), "float": self.cast.format(type="float")}
        ints, floats = self.ints(lanes), self.floats(lanes)
        return {
            "int": self.vector_cast.format(type=ints),
            "float": self.vector_cast.format(type=floats),
        }

    def splat(self, value: str, lanes: int) -> str:
        """A slice with the same value in every lane."""
        return self.convert(self.floats(lanes), value)

    def lane(self, value: str, number: int, lanes: int) -> str:
        """One lane of a variable."""
        return f"{value}.{'xyzw'[number]}" if lanes == 4 else f"{value}.s{number:x}"

    def __str__(self) -> str:
        return self.name


OPENCL = Language(
    name="opencl",
    suffix=".cl",
    float_vector="float{S}",
    int_vector="int{S}",
    half_vector="half",
    cast="({type})",
    vector_cast="convert_{type}",
    unroll="#pragma unroll",
    images=True,
    sub_groups=True,
)
"""OpenCL C 1.2."""

GLSL = Language(
    name="glsl",
    suffix=".comp",
    float_vector="vec{S}",
    int_vector="ivec{S}",
    half_vector="uvec2",
    cast="{type}",
    vector_cast="{type}",
    unroll="",
    images=False,
    sub_groups=False,
)
"""GLSL ES 3.1; vectors have four lanes."""

VULKAN = Language(
    name="vulkan",
    suffix=".comp",
    float_vector="vec{S}",
    int_vector="ivec{S}",
    half_vector="uvec2",
    cast="{type}",
    vector_cast="{type}",
    unroll="",
    images=False,
    sub_groups=False,
)
"""The GLSL of Vulkan, from which Metal's kernels are translated."""

LANGUAGES = {language.name: language for language in (OPENCL, GLSL, VULKAN)}
