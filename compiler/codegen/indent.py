"""Indentation of kernels by nesting, so that templates need not take care of it."""

from __future__ import annotations

import re

_HEAD = re.compile(r"(?:for|while|if|else if) \(.*\)$|else$")
STEP = "  "


def indent(text: str, depth: int = 0) -> str:
    """The non-empty lines of a text, indented one step per enclosing brace.

    A statement after a loop or condition without braces is also one step deeper, and lines within
    parentheses are two steps deeper.
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
