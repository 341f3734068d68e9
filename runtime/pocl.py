"""What is particular to PoCL, OpenCL for processors: versions, and processors it does not know."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyopencl as cl

_VERSION = re.compile(r"PoCL (\d+(?:\.\d+)*)(-rc(\d+))?")
_NO_PROCESSOR = re.compile(r"x86_64\S*-generic$")


def pocl_version(platform_version: str) -> tuple[tuple[int, ...], bool, int]:
    """The part of a platform's version that orders PoCL drivers; a release beats its candidates.

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


def knows_processor(device: cl.Device) -> bool:
    """Whether PoCL can compile for the processor it runs on.

    A build older than the processor takes it for a "generic" one, a name its own compiler refuses
    on x86 (https://github.com/pocl/pocl/issues/1049). Others than PoCL know what they run on.
    """
    if not _NO_PROCESSOR.search(device.version):
        return True
    import pyopencl as cl

    try:
        cl.Program(cl.Context([device]), "__kernel void nothing() {}").build(cache_dir=False)
    except cl.Error:
        return False
    return True
