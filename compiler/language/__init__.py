"""The kernel languages: their names for types and casts, and the index arithmetic they share."""

from .indexing import affine, horner, number, quotient, remainder, spread
from .language import GLSL, LANGUAGES, OPENCL, VULKAN, Language

__all__ = [
    "GLSL",
    "LANGUAGES",
    "OPENCL",
    "VULKAN",
    "Language",
    "affine",
    "horner",
    "number",
    "quotient",
    "remainder",
    "spread",
]
