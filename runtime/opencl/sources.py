"""Kernel texts for the compiler of an OpenCL device: several files as one, and line numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping

_DEFINITION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_HELPER = re.compile(r"^(?:float|int) \w+\(.*\) \{.*\}$", re.MULTILINE)
"""A function in one line, as kernels have in front."""


def join_sources(sources: Mapping[str, str]) -> str:
    """One text with the meaning of the files in a row, each of which compiles alone.

    Every macro ends with the file that defines it, so that no file can change what a later one
    means, and a helper that an earlier file has is left out; other functions of the same name are
    left for the device's compiler to refuse. Messages of that compiler keep the files' names and
    line numbers.
    """
    parts = []
    helpers: set[str] = set()
    for file, text in sources.items():
        macros = dict.fromkeys(_DEFINITION.findall(text))
        for helper in _HELPER.findall(text):
            if helper in helpers:
                text = text.replace(helper, "", 1)
            helpers.add(helper)
        parts.append(f'#line 1 "{file}"\n{text}\n')
        parts.extend(f"#undef {macro}\n" for macro in macros)
    return "".join(parts)


def numbered(source: str) -> str:
    """The text with a number before each line."""
    lines = source.splitlines()
    width = len(str(len(lines)))
    return "\n".join(f"{number:{width}} | {line}" for number, line in enumerate(lines, 1))
