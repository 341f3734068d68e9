"""The jinja2 environment of kernel templates."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import jinja2
from jinja2.nativetypes import NativeCodeGenerator

from ... import templates
from ..language import Expression


class _Environment(jinja2.Environment):
    """Macros that hold nothing but an expression, or a number, return it instead of its text."""

    code_generator_class = NativeCodeGenerator

    @staticmethod
    def concat(values: Iterable[Any]) -> Any:
        parts = list(values)
        if len(parts) == 1 and isinstance(parts[0], (Expression, int)):
            return parts[0]
        return "".join(map(str, parts))


@cache
def environment() -> jinja2.Environment:
    """The environment of all kernel templates; undefined names are errors."""
    return _Environment(
        loader=jinja2.FunctionLoader(templates.source),
        extensions=["jinja2.ext.do"],
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
