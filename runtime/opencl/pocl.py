"""Peculiarities of PoCL, an OpenCL driver for CPUs: its versions, and instructions by name."""

from __future__ import annotations

import re

from ..processor import instructions

_VERSION = re.compile(r"PoCL (\d+(?:\.\d+)*)(-rc(\d+))?")
_PLATFORM = "Portable Computing Language"
_NAMED = frozenset({"avx512_vnni"})
"""Instructions that intrinsics name; the macro that says so is the name in capitals."""


def pocl_version(platform_version: str) -> tuple[tuple[int, ...], bool, int]:
    """A key that orders platform versions by PoCL's version; a release follows its candidates.

    >>> pocl_version("OpenCL 3.0 PoCL 3.1+debian") > pocl_version("OpenCL 3.0 PoCL 3.0-rc2")
    True
    >>> pocl_version("OpenCL 3.0 PoCL 3.0") > pocl_version("OpenCL 3.0 PoCL 3.0-rc2")
    True
    """
    match = _VERSION.search(platform_version)
    if not match:
        return ((), False, 0)
    numbers = tuple(int(number) for number in match[1].split("."))
    return (numbers, match[2] is None, int(match[3] or 0))


def usable_instructions(platform: str, type: str) -> tuple[str, ...]:
    """The instructions that kernels may use by name on a device of a platform.

    PoCL's compiler assembles them even if it takes the processor for an older one.
    """
    mine = platform == _PLATFORM and type == "cpu"
    return tuple(sorted(_NAMED & instructions())) if mine else ()
