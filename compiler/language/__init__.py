"""The kernel languages: their names for types and casts, and the expressions of kernels."""

from .array import Array
from .expression import (
    FALSE,
    TRUE,
    Expression,
    Name,
    Number,
    Operand,
    Operation,
    Real,
    Unary,
    common_type,
    expression,
)
from .functions import clamp, coordinate, every, horner, lane, maximum, minimum, part, select
from .language import GLSL, LANGUAGES, OPENCL, PIXELS, VULKAN, WGSL, Language
from .notation import float_text
from .primary import Call, Cast, Choice, Element, Member, Numeral, Step
from .types import FLOAT, FLOATS, HALF, HALVES, INT, INTS, LANE, PAIR, RGB

__all__ = [
    "FALSE",
    "FLOAT",
    "FLOATS",
    "GLSL",
    "HALF",
    "HALVES",
    "INT",
    "INTS",
    "LANE",
    "LANGUAGES",
    "OPENCL",
    "PAIR",
    "PIXELS",
    "RGB",
    "TRUE",
    "VULKAN",
    "WGSL",
    "Array",
    "Call",
    "Cast",
    "Choice",
    "Element",
    "Expression",
    "Language",
    "Member",
    "Name",
    "Number",
    "Numeral",
    "Operand",
    "Operation",
    "Real",
    "Step",
    "Unary",
    "clamp",
    "common_type",
    "coordinate",
    "every",
    "expression",
    "float_text",
    "horner",
    "lane",
    "maximum",
    "minimum",
    "part",
    "select",
]
