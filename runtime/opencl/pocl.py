"""Peculiarities of PoCL, an OpenCL driver for CPUs: versions, and processors newer than itself."""

from __future__ import annotations

import re
from ctypes import c_char_p

from ..processor import instructions
from .library import OpenCLError, call, handles, make, query

_VERSION = re.compile(r"PoCL (\d+(?:\.\d+)*)(-rc(\d+))?")
_UNKNOWN_PROCESSOR = re.compile(rb"x86_64\S*-generic\s*\0*$")
_EARLIER_ZEN = re.compile(rb"znver[123]\s*\0*$")
_LANES_OF_EARLIER_ZEN = 8
_PLATFORM = "Portable Computing Language"
_NAMED = frozenset({"avx512_vnni"})
"""Instructions that intrinsics name; the macro that says so is the name in capitals."""
_DEVICE_VERSION = 0x102F
"""CL_DEVICE_VERSION, which names the processor in PoCL."""


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


def knows_processor(device: int) -> bool:
    """Whether a device can compile for its processor (OpenCLError); always true except for PoCL.

    A PoCL older than the processor calls it "generic", a name that its own compiler rejects on x86
    (https://github.com/pocl/pocl/issues/1049).
    """
    version = query("clGetDeviceInfo", device, _DEVICE_VERSION)
    return not _UNKNOWN_PROCESSOR.search(version) or _compiles(device)


def usable_lanes(device: int, native: int) -> int:
    """The floats of a vector that a device's compiler can handle, of those it says it has
    (OpenCLError).

    A PoCL older than Zen 4 takes that for a Zen 3 with vectors twice as wide, and its compiler
    aborts on these.
    """
    version = query("clGetDeviceInfo", device, _DEVICE_VERSION)
    return min(native, _LANES_OF_EARLIER_ZEN) if _EARLIER_ZEN.search(version) else native


def usable_instructions(platform: str, type: str) -> tuple[str, ...]:
    """The instructions that kernels may use by name on a device of a platform.

    PoCL's compiler assembles them even if it takes the processor for an older one.
    """
    mine = platform == _PLATFORM and type == "cpu"
    return tuple(sorted(_NAMED & instructions())) if mine else ()


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
