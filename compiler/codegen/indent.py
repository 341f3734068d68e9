"""The lines of a kernel, indented by how they nest, so that templates need not care for it."""

from __future__ import annotations

import re

_HEAD = re.compile(r"(?:for|while|if|else if) \(.*\)$|else$")
STEP = "  "


def indent(text: str, depth: int = 0) -> str:
    """The lines of a text without empty ones, one step deeper for each brace around them.

    Statements behind a head without braces are a step deeper, too, and lines within round brackets
    two steps.
    """
    lines = []
    outer: list[int] = []
    heads = brackets = 0
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("}"):
            depth = outer.pop()
        lines.append(STEP * (depth + heads + (2 if brackets else 0)) + line)
        if line.startswith("#"):
            continue
        code = line.partition("//")[0].removeprefix("}")
        brackets += code.count("(") - code.count(")")
        for _ in range(code.count("{") - code.count("}")):
            outer.append(depth)
            depth += heads + 1
            heads = 0
        heads = heads + 1 if _HEAD.match(line) and not brackets else 0
    return "\n".join(lines)
