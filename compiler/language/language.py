"""The facts about kernel languages on which the text of kernels depends.

Differences that take more than a name are intrinsics; entry points have templates of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from .expression import Expression, Operand
from .primary import Call, Numeral, Splat
from .types import FLOAT, FLOATS, HALF, HALVES, INTS, PAIR, RGB, RGBA, UINTS

PIXELS = {RGB: 3, RGBA: 4}  # Lanes of the vectors that have as many in every kernel.


@dataclass(frozen=True)
class Language:
    """A kernel language; {S} in the names of types is the number of lanes."""

    name: Literal["opencl", "glsl", "vulkan", "wgsl"]
    suffix: str
    # The names of types of expressions; all others are called the same in every language.
    types: Mapping[str, str] = field(hash=False)
    # The types of elements of arrays by what an element holds: an `int8`, a `uint8` or a `uint16`;
    # a `slice` of floats, or one of a `byte`, of a `short` or, with intrinsics that unpack them, of
    # a `half` for each lane; `halves` that kernels compute with; `half_rows`, one number of a row
    # in half precision, or two. Some languages have `pairs` of slices of halves, which kernels load
    # at once where compilers do not join loads, and `four` slices of floats, which they store so.
    elements: Mapping[str, str] = field(hash=False)
    # Whether arrays can have such slices as elements; otherwise functions unpack them.
    half_arrays: bool
    # What a device must have to compute with halves, under the names that drivers give it.
    half_extensions: tuple[str, ...]
    # Whether integers of 8 and 16 bits lie in words, several in each, because arrays have no
    # elements of so few bits.
    packs_bytes: bool
    cast: str  # A conversion to {type}; its argument follows in parentheses.
    vector_cast: str  # A conversion of vectors to {type}, lane by lane.
    # Functions that give the same bits as a value, or a vector of {type}, of integers or of floats.
    bit_casts: Mapping[str, str] = field(hash=False)
    # The function that chooses one of two values in each lane, the second one where a third operand
    # holds, and those that compare lanes, by the operator for single values, which does so if none.
    lane_choice: str
    lane_comparisons: Mapping[str, str] = field(hash=False)
    # The hint before a loop to unroll; "" if the language has none, so that kernels repeat the body
    # instead.
    unroll: str
    roll: str  # The hint before a loop to keep as it is; "" if the language has none.
    # Whether a vector can be stored in an array of its elements; otherwise each lane is.
    vector_stores: bool
    images: bool  # Whether kernels can read image buffers.
    # Whether a buffer may be bound as one that is only read while the kernel writes elsewhere in
    # it.
    writes_beside: bool = True
    # Whether an element can be named by an address and the way from it, and a lane in memory as a
    # number of its own.
    pointers: bool = False
    # Whether the type of a conversion of a single value is in parentheses, as in C.
    casts_as_in_c: bool = False
    # Whether buffers are arrays of a stated number of elements, so that indices are checked against
    # constants.
    counts_elements: bool = False
    # Whether all local memory is zero before a work-group begins, so that kernels start and compile
    # the faster the less they declare.
    clears_local_memory: bool = False
    # Whether kernels are compiled whenever a model is loaded, so that short ones are worth more
    # than a second path for tiles inside of an image.
    compiled_at_start: bool = False

    def element(self, kind: str, lanes: int) -> str:
        """The element type of an array: int, float, or that of one of `elements`."""
        return self.elements.get(kind, kind).format(S=lanes)

    def name_of(self, type: str, lanes: int) -> str:
        """The name of a type of expressions, where slices have so many lanes."""
        return self.types.get(type, type).format(S=PIXELS.get(type, lanes))

    def made(self, type: str, lanes: int, *values: Operand) -> Expression:
        """A value of a type of values: of one for each lane, or of one for all."""
        name = self.name_of(type, lanes)
        call = Splat if len(values) == 1 and type in (INTS, FLOATS) else Call
        return call(self.cast.format(type=name), *values, type=type)

    def casts(self, lanes: int) -> dict[str, str]:
        """Conversions to integers and to floats, of slices or, with 0 lanes, of single values."""
        if not lanes:
            return {"int": self.cast.format(type="int"), "float": self.cast.format(type="float")}
        ints, floats = self.name_of(INTS, lanes), self.name_of(FLOATS, lanes)
        return {
            "int": self.vector_cast.format(type=ints),
            "float": self.vector_cast.format(type=floats),
        }

    def zero(self, type: str, lanes: int) -> Expression:
        zero = Numeral("0.0f", type)
        if type == FLOAT or (type == HALF and not self.half_arrays):
            return zero
        exact = type if self.half_arrays else FLOATS
        return Call(self.cast.format(type=self.name_of(exact, lanes)), zero, type=type)

    def widen(self, halves: Expression, lanes: int) -> Expression:
        """A slice of floats from one of halves."""
        if not self.half_arrays:
            return halves
        return Call(self.casts(lanes)["float"], halves, type=FLOATS)

    def narrow(self, floats: Expression, lanes: int) -> Expression:
        """A slice of halves, as arrays have them, from one of floats."""
        name = self.vector_cast.format(type=self.name_of(HALVES, lanes))
        return Call(name, floats, type=HALVES)

    def __str__(self) -> str:
        return self.name


# OpenCL C 1.2.
OPENCL = Language(
    name="opencl",
    suffix=".cl",
    types={
        **{INTS: "int{S}", FLOATS: "float{S}", RGB: "float{S}", RGBA: "float{S}"},
        **{HALF: "half", HALVES: "half{S}"},
    },
    elements={
        **{"int8": "char", "uint8": "uchar", "uint16": "ushort"},
        **{"slice": "float{S}", "byte": "uchar{S}", "short": "ushort{S}"},
        **{"half": "half", "half_rows": "half", "halves": "half{S}"},
    },
    half_arrays=True,
    half_extensions=("cl_khr_fp16",),
    packs_bytes=False,
    cast="({type})",
    vector_cast="convert_{type}",
    bit_casts={"int": "as_{type}", "float": "as_{type}"},
    lane_choice="select",
    lane_comparisons={},
    unroll="#pragma unroll",
    roll="#pragma unroll 1",
    vector_stores=True,
    images=True,
    pointers=True,
    casts_as_in_c=True,
)

# GLSL ES 3.1; vectors have four lanes.
GLSL = Language(
    name="glsl",
    suffix=".comp",
    types={
        **{INTS: "ivec{S}", UINTS: "uvec{S}", FLOATS: "vec{S}", RGB: "vec{S}", RGBA: "vec{S}"},
        **{HALF: "mediump float", HALVES: "mediump vec{S}"},
    },
    elements={
        **{"int8": "uint", "uint8": "uint", "uint16": "uint"},
        **{"slice": "vec{S}", "byte": "uint", "short": "uvec2"},
        **{"half": "uvec2", "half_rows": "uint", "halves": "uvec2"},
    },
    half_arrays=False,
    half_extensions=(),
    packs_bytes=True,
    cast="{type}",
    vector_cast="{type}",
    bit_casts={"int": "floatBitsToInt", "float": "intBitsToFloat"},
    lane_choice="mix",
    lane_comparisons={
        **{"<": "lessThan", "<=": "lessThanEqual", ">": "greaterThan", ">=": "greaterThanEqual"},
        **{"==": "equal", "!=": "notEqual"},
    },
    unroll="",
    roll="",
    vector_stores=False,
    images=False,
)

# GLSL for Vulkan, from which Metal's kernels are translated.
VULKAN = replace(
    GLSL,
    name="vulkan",
    types={**GLSL.types, HALF: "float16_t", HALVES: "f16vec{S}", PAIR: "uvec4"},
    elements={**GLSL.elements, "halves": "f16vec{S}", "pairs": "uvec4", "four": "mat4"},
    half_arrays=True,
    half_extensions=("VK_KHR_16bit_storage", "VK_KHR_shader_float16_int8"),
    unroll="[[unroll]]",
    roll="[[dont_unroll]]",
)

# WGSL, with the names that GLSL has for its types, as its printer takes them.
WGSL = replace(
    GLSL,
    name="wgsl",
    suffix=".wgsl",
    types={**GLSL.types, HALF: "float16_t", HALVES: "f16vec{S}"},
    elements={**GLSL.elements, "halves": "f16vec{S}"},
    half_arrays=True,
    half_extensions=("shader-f16",),
    lane_choice="select",
    lane_comparisons={},
    writes_beside=False,
    counts_elements=True,
    clears_local_memory=True,
    compiled_at_start=True,
)

LANGUAGES = {language.name: language for language in (OPENCL, GLSL, VULKAN, WGSL)}
