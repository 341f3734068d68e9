"""The words of a kernel language: the definitions a template's text relies on.

Each dialect has one file of them, a definition a line; a kernel gets those it uses.
"""

from __future__ import annotations

import re
from functools import cache

import jinja2

from .. import templates
from .straighten import straighten


@cache
def environment() -> jinja2.Environment:
    """Where all kernel templates come from; an unknown name in one is an error."""
    result = jinja2.Environment(
        loader=jinja2.FunctionLoader(templates.source),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    result.filters["straighten"] = straighten
    return result


@cache
def _words(dialect: str, lanes: int) -> tuple[str, ...]:
    text = environment().get_template(f"dialects/{dialect}.h").render(S=lanes)
    return tuple(text.splitlines())


def prelude(dialect: str, lanes: int, body: str) -> str:
    """The dialect's lines that are no definitions, and the definitions of the words used."""
    lines = _words(dialect, lanes)
    defined = {match[1]: line for line in lines if (match := re.match(r"#define (\w+)", line))}
    wanted: set[str] = set()
    texts = [body]
    while texts:
        found = set(re.findall(r"\w+", texts.pop())) & (defined.keys() - wanted)
        wanted |= found
        texts += [defined[word] for word in found]
    kept = [
        line
        for line in lines
        if not (match := re.match(r"#define (\w+)", line)) or match[1] in wanted
    ]
    return "\n".join(kept) + "\n\n" if kept else ""
