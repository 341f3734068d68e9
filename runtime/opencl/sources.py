"""What the driver's compiler is given: one source for all kernels of a run, and options."""

from __future__ import annotations

import re
from collections.abc import Mapping

BUILD_OPTIONS = "-cl-mad-enable -cl-denorms-are-zero -w"
"""Denormal numbers, which many processors compute slowly, may be taken for zeros."""
PERSISTENT_OPTIONS = f"{BUILD_OPTIONS} -cl-std=CL3.0"
"""For devices that run persistent kernels: OpenCL C has ordered atomics since version 2.0."""
SUB_GROUPS = "cl_intel_required_subgroup_size"
"""The extension with which a kernel requires a sub-group size."""

_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


def join_sources(sources: Mapping[str, str]) -> str:
    """One source with the meaning of all these files, each of which compiles by itself.

    Macros are undefined at the end of the file that defines them, so that no file, edited or not,
    can change the meaning of a later one. A function defined twice is an error of the driver's
    compiler, whose messages keep the names of the files and their line numbers.
    """
    texts = []
    for file, text in sources.items():
        texts.append(f'#line 1 "{file}"\n{text}\n')
        texts.extend(f"#undef {macro}\n" for macro in dict.fromkeys(_MACRO.findall(text)))
    return "".join(texts)
