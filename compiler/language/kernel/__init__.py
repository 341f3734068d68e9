"""The kernel language: the C-like text of templates and intrinsics, as trees.

Types, operators and functions are those of GLSL ES 3.1. Languages whose compilers do not read it,
such as WGSL, are printed from the trees.
"""

from .parse import ParseError, parse_definitions, parse_statements

__all__ = ["ParseError", "parse_definitions", "parse_statements"]
