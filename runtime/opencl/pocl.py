"""PoCL, an OpenCL driver for CPUs: the order of its versions."""

from __future__ import annotations

import re

_VERSION = re.compile(r"PoCL (\d+(?:\.\d+)*)(-rc(\d+))?")


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
