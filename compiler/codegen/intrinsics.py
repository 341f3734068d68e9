"""The words of a kernel language: the definitions a template's text relies on.

Each dialect has one file of them, a definition a line; a kernel gets those it uses.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache

import jinja2

from ... import templates
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


def prelude(dialect: str, lanes: int, body: str, without: Set[str] = frozenset()) -> str:
    """The dialect's lines that are no definitions, and the definitions of the words used.

    A word is a `#define` or a function, and a function may have a line for each type it takes.
    The body has definitions of its own of the words in `without`.
    """
    words = [(line, defined_word(line)) for line in _words(dialect, lanes)]
    lines = [(line, word) for line, word in words if word not in without]
    wanted: set[str] = set()
    texts = [body]
    while texts:
        used = set(re.findall(r"\w+", texts.pop())) - wanted
        found = {word for _, word in lines if word in used}
        wanted |= found
        texts += [line for line, word in lines if word in found]
    kept = [line for line, word in lines if not word or word in wanted]
    return "\n".join(kept) + "\n\n" if kept else ""


def defined_word(line: str) -> str:
    """The word a line of a dialect defines; nothing for a line that is always there."""
    match = re.match(r"(?:#define|(?:float|int|vec4|ivec4)(?= \w+\()) (\w+)", line)
    return match[1] if match else ""
