"""Long lines of WGSL, continued after a comma or before an operator."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...language.statement import STEP

WIDTH = 100
"""Most characters of a line, but for its indentation."""

_BREAK = re.compile(r"(?<=, )|(?= (?:[-+*/%&|^]|&&|\|\||[<>=!]=|<<|>>|<|>) )")


def wrapped(line: str) -> list[str]:
    """A statement on as few lines as it needs; those after the first are two steps deeper."""
    return list(_wrapped(line)) if len(line) > WIDTH else [line]


def _wrapped(line: str) -> Iterator[str]:
    rest, indent = line, ""
    while len(rest) > WIDTH:
        places = [match.start() for match in _BREAK.finditer(rest) if 0 < match.start() <= WIDTH]
        if not places:
            break
        place = min(places, key=lambda each: (_depth(rest[:each]), rest[each] == " ", -each))
        if place < WIDTH // 3:
            place = places[-1]
        yield indent + rest[:place].rstrip()
        rest, indent = rest[place:].lstrip(), STEP * 2
    yield indent + rest


def _depth(text: str) -> int:
    return text.count("(") + text.count("[") - text.count(")") - text.count("]")
