"""What is particular to PoCL, OpenCL for processors: versions, and processors it does not know."""

from __future__ import annotations

import re
from ctypes import c_char_p

from .library import OpenCLError, call, handles, make, query

_VERSION = re.compile(r"PoCL (\d+(?:\.\d+)*)(-rc(\d+))?")
_NO_PROCESSOR = re.compile(rb"x86_64\S*-generic\s*\0*$")
_DEVICE_VERSION = 0x102F
"""CL_DEVICE_VERSION, in which PoCL names the processor."""


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


def knows_processor(device: int) -> bool:
    """Whether PoCL can compile for the processor it runs on (OpenCLError).

    A build older than the processor takes it for a "generic" one, a name its own compiler refuses
    on x86 (https://github.com/pocl/pocl/issues/1049). Others than PoCL know what they run on.
    """
    version = query("clGetDeviceInfo", device, _DEVICE_VERSION)
    return not _NO_PROCESSOR.search(version) or _compiles(device)


def _compiles(device: int) -> bool:
    only = handles(device)
    context = make("clCreateContext", None, 1, only, None, None)
    text = (c_char_p * 1)(b"__kernel void nothing() {}")
    program = make("clCreateProgramWithSource", context, 1, text, None)
    try:
        call("clBuildProgram", program, 1, only, b"", None, None)
    except OpenCLError:
        return False
    finally:
        call("clReleaseProgram", program)
        call("clReleaseContext", context)
    return True
