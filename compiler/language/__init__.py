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
from .primary import Call, Cast, Choice, Element, Member, Numeral, Step
from .types import FLOAT, FLOATS, HALF, HALVES, INT, INTS, LANE, PAIR, RGB
