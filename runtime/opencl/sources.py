"""What the compiler of an OpenCL driver is given: one source for all kernels of a run."""

from __future__ import annotations

from collections.abc import Mapping


def join_sources(sources: Mapping[str, str]) -> str:
    """One source of several files, whose messages keep the names of the files and their lines.

    No file changes the meaning of a later one: each undefines its macros at its end, and its
    functions are named after its kernel.
    """
    return "".join(f'#line 1 "{file}"\n{text}\n' for file, text in sources.items())
