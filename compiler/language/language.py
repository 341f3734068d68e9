"""The facts about kernel languages on which the text of kernels depends.

Differences that take more than a name are intrinsics; entry points have templates of their own.
"""

from dataclasses import dataclass, replace
from typing import Literal

from .expression import Expression, Operand
from .primary import Call, Numeral, Splat
from .types import FLOAT, FLOATS, HALF, HALVES, INTS, PAIR, RGB, RGBA

PIXELS = {RGB: 3, RGBA: 4}
"""Lanes of the vectors that have as many in every kernel."""


@dataclass(frozen=True)
class Language:
    """A kernel language; {S} in the names of types is the number of lanes."""

    name: Literal["opencl", "glsl", "vulkan", "wgsl"]
    suffix: str
    """Suffix of source files."""
    float_vector: str
    int_vector: str
    half_vector: str
    """The element type of an array of slices in half precision."""
    half_element: str
    """The element type of a row-major array in half precision, which may hold two."""
    half: str
    """The type of a variable in half precision, if kernels compute in it."""
    halves: str
    """The type of a slice in half precision, if kernels compute in it."""
    half_arrays: bool
    """Whether arrays can have such slices as elements; otherwise functions unpack them."""
    half_pair: str
    """The element type of an array that kernels load two such slices from at once; "" where their
    compilers join loads by themselves."""
    four: str
    """The element type of an array that kernels store four slices of floats to at once, if any."""
    half_extensions: tuple[str, ...]
    """What a device must have for that, under the names that drivers give it."""
    byte_vector: str
    """The element type of an array of slices of bytes."""
    short_vector: str
    """The element type of an array of slices of integers of 16 bits."""
    int8: str
    """The element type of an array of int8."""
    uint8: str
    """The element type of an array of uint8."""
    uint16: str
    """The element type of an array of uint16."""
    packs_bytes: bool
    """Whether these are words of several integers each, because arrays have no elements of 8 and
    16 bits."""
    cast: str
    """A conversion to {type}; its argument follows in parentheses."""
    vector_cast: str
    """A conversion of vectors to {type}, lane by lane."""
    unroll: str
    """The hint before a loop to unroll; "" if the language has none, so that kernels repeat the
    body instead."""
    roll: str
    """The hint before a loop to keep as it is; "" if the language has none."""
    vector_stores: bool
    """Whether a vector can be stored in an array of its elements; otherwise each lane is."""
    images: bool
    """Whether kernels can read image buffers."""
    writes_beside: bool = True
    """Whether a buffer may be bound as one that is only read while the kernel writes elsewhere in
    it."""
    pointers: bool = False
    """Whether an element can be named by an address and the way from it, and a lane in memory as a
    number of its own."""
    casts_as_in_c: bool = False
    """Whether the type of a conversion of a single value is in parentheses, as in C."""
    counts_elements: bool = False
    """Whether buffers are arrays of a stated number of elements, so that indices are checked
    against constants."""
    clears_local_memory: bool = False
    """Whether all local memory is zero before a work-group begins, so that kernels start and
    compile the faster the less they declare."""
    compiled_at_start: bool = False
    """Whether kernels are compiled whenever a model is loaded, so that short ones are worth more
    than a second path for tiles inside of an image."""

    def element(self, kind: str, lanes: int) -> str:
        """The element type of an array: int, float, or one of the kinds below."""
        types = {
            "int8": self.int8,
            "uint8": self.uint8,
            "uint16": self.uint16,
            "slice": self.float_vector,
            "half": self.half_vector,
            "half_rows": self.half_element,
            "pairs": self.half_pair,
            "four": self.four,
            "halves": self.halves if self.half_arrays else self.half_vector,
            "byte": self.byte_vector,
            "short": self.short_vector,
        }
        return types[kind].format(S=lanes) if kind in types else kind

    def name_of(self, type: str, lanes: int) -> str:
        """The name of a type of expressions, where slices have so many lanes."""
        names = {
            INTS: self.int_vector,
            FLOATS: self.float_vector,
            HALF: self.half,
            HALVES: self.halves,
            PAIR: self.half_pair,
            RGB: self.float_vector,
            RGBA: self.float_vector,
        }
        lanes = PIXELS.get(type, lanes)
        return names[type].format(S=lanes) if type in names else type

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
        """Zero of a type of floats or halves."""
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


OPENCL = Language(
    name="opencl",
    suffix=".cl",
    float_vector="float{S}",
    int_vector="int{S}",
    half_vector="half",
    half_element="half",
    half="half",
    halves="half{S}",
    half_arrays=True,
    half_pair="",
    four="",
    half_extensions=("cl_khr_fp16",),
    byte_vector="uchar{S}",
    short_vector="ushort{S}",
    int8="char",
    uint8="uchar",
    uint16="ushort",
    packs_bytes=False,
    cast="({type})",
    vector_cast="convert_{type}",
    unroll="#pragma unroll",
    roll="#pragma unroll 1",
    vector_stores=True,
    images=True,
    pointers=True,
    casts_as_in_c=True,
)
"""OpenCL C 1.2."""

GLSL = Language(
    name="glsl",
    suffix=".comp",
    float_vector="vec{S}",
    int_vector="ivec{S}",
    half_vector="uvec2",
    half_element="uint",
    half="mediump float",
    halves="mediump vec{S}",
    half_arrays=False,
    half_pair="",
    four="",
    half_extensions=(),
    byte_vector="uint",
    short_vector="uvec2",
    int8="uint",
    uint8="uint",
    uint16="uint",
    packs_bytes=True,
    cast="{type}",
    vector_cast="{type}",
    unroll="",
    roll="",
    vector_stores=False,
    images=False,
)
"""GLSL ES 3.1; vectors have four lanes."""

VULKAN = replace(
    GLSL,
    name="vulkan",
    half="float16_t",
    halves="f16vec{S}",
    half_arrays=True,
    half_pair="uvec4",
    four="mat4",
    half_extensions=("VK_KHR_16bit_storage", "VK_KHR_shader_float16_int8"),
    unroll="[[unroll]]",
    roll="[[dont_unroll]]",
)
"""GLSL for Vulkan, from which Metal's kernels are translated."""

WGSL = replace(
    GLSL,
    name="wgsl",
    suffix=".wgsl",
    half="float16_t",
    halves="f16vec{S}",
    half_arrays=True,
    half_extensions=("shader-f16",),
    writes_beside=False,
    counts_elements=True,
    clears_local_memory=True,
    compiled_at_start=True,
)
"""WGSL, with the names that GLSL has for its types, as its printer takes them."""

LANGUAGES = {language.name: language for language in (OPENCL, GLSL, VULKAN, WGSL)}
