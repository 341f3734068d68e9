"""The kernel languages: what they call things, and the index arithmetic that is the same in all."""

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
