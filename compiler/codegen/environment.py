"""The jinja2 environment of kernel templates."""

from __future__ import annotations

from functools import cache

import jinja2

from ... import templates


@cache
def environment() -> jinja2.Environment:
    """The environment of all kernel templates; undefined names are errors."""
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(templates.source),
        extensions=["jinja2.ext.do"],
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
