"""The limits of an OpenGL device, and whether a plan stays within them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from ..plan.records import Kernel, Plan
from .egl import Context

# GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT and GL_MAX_SHADER_STORAGE_BLOCK_SIZE
_OFFSET_ALIGNMENT, _MAX_BLOCK_SIZE = 0x90DF, 0x90DE
# As in OpenGL's headers, but for GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS and so on.
_MAX_STORAGE_BLOCKS = 0x90DB
_MAX_SHARED_MEMORY_SIZE = 0x8262
_MAX_WORK_GROUP_INVOCATIONS = 0x90EB
_MAX_WORK_GROUP_COUNT, _MAX_WORK_GROUP_SIZE = 0x91BE, 0x91BF

_SHARED = re.compile(r"^\s*shared\s+(\w+)\s+\w+\s*((?:\[\s*\d+\s*\])*)\s*;", re.MULTILINE)
_BINDING = re.compile(r"\bbinding\s*=\s*(\d+)")
_ITEM_SIZES = {"vec2": 8, "vec3": 16, "vec4": 16, "ivec2": 8, "ivec4": 16, "uvec4": 16}
"""Bytes of the types that do not have 4."""


@dataclass(frozen=True)
class Limits:
    """The limits that matter to compute kernels."""

    alignment: int
    """Bytes that the offset of a buffer argument must be a multiple of."""
    block_size: int
    """Bytes in a buffer argument, at most."""
    buffers: int
    """Buffer arguments of a kernel, at most."""
    shared_memory: int
    """Bytes that a work-group can share."""
    group: int
    """Work-items in a work-group, at most."""
    group_sizes: tuple[int, ...]
    """Work-items in a work-group along each axis, at most."""
    group_counts: tuple[int, ...]
    """Work-groups in a launch along each axis, at most."""


def read_limits(context: Context) -> Limits:
    """The limits of the device of a context, which must be current."""
    kinds = (ctypes.c_uint, ctypes.POINTER(ctypes.c_int64))
    single = ctypes.CFUNCTYPE(None, *kinds)(context.load("glGetInteger64v"))
    indexed = ctypes.CFUNCTYPE(None, ctypes.c_uint, *kinds)(context.load("glGetInteger64i_v"))

    def integer(name: int) -> int:
        value = ctypes.c_int64()
        single(name, value)
        return value.value

    def integers(name: int) -> tuple[int, int, int]:
        values = (ctypes.c_int64 * 3)()
        for axis in range(3):
            indexed(name, axis, ctypes.cast(ctypes.byref(values, 8 * axis), kinds[1]))
        return values[0], values[1], values[2]

    return Limits(
        alignment=max(1, integer(_OFFSET_ALIGNMENT)),
        block_size=integer(_MAX_BLOCK_SIZE),
        buffers=integer(_MAX_STORAGE_BLOCKS),
        shared_memory=integer(_MAX_SHARED_MEMORY_SIZE),
        group=integer(_MAX_WORK_GROUP_INVOCATIONS),
        group_sizes=integers(_MAX_WORK_GROUP_SIZE),
        group_counts=integers(_MAX_WORK_GROUP_COUNT),
    )


def exceeded_limit(plan: Plan, sources: Mapping[str, str], limits: Limits) -> str | None:
    """The first limit that a plan exceeds, as text with both numbers; None if there is none."""
    for kernel in plan.kernels:
        for problem in _kernel(kernel, sources[kernel.file], limits):
            return problem
    return exceeded_limit_of_dispatches(plan, limits)


def exceeded_limit_of_dispatches(plan: Plan, limits: Limits) -> str | None:
    """The same for dispatches only; kernels restored from a binary have been checked before."""
    return next(_dispatches(plan, limits), None)


def _kernel(kernel: Kernel, source: str, limits: Limits) -> Iterator[str]:
    if prod(kernel.group) > limits.group:
        yield (
            f"{kernel.file} has work-groups of {prod(kernel.group)} work-items, but the "
            f"limit is {limits.group}"
        )
    for axis, size, limit in zip("xyz", kernel.group, limits.group_sizes, strict=True):
        if size > limit:
            yield (
                f"{kernel.file} has work-groups of {size} work-items along {axis}, but the "
                f"limit is {limit}"
            )
    shared = shared_memory(source)
    if shared > limits.shared_memory:
        yield (
            f"{kernel.file} uses {shared} bytes of shared memory, but this device has "
            f"{limits.shared_memory}"
        )


def _dispatches(plan: Plan, limits: Limits) -> Iterator[str]:
    for index, dispatch in enumerate(plan.dispatches):
        name = f"dispatch {index} ({dispatch.label})"
        group = plan.kernels[dispatch.kernel].group
        counts = tuple(size // part for size, part in zip(dispatch.grid, group, strict=True))
        for axis, count, limit in zip("xyz", counts, limits.group_counts, strict=True):
            if count > limit:
                yield f"{name} has {count} work-groups along {axis}, but the limit is {limit}"
        if len(dispatch.arguments) > limits.buffers:
            yield (
                f"{name} has {len(dispatch.arguments)} storage buffers, but the "
                f"limit is {limits.buffers}"
            )
        for argument in dispatch.arguments:
            if argument.size > limits.block_size:
                yield (
                    f"{name} has a storage buffer of {argument.size} bytes, but the "
                    f"limit is {limits.block_size}"
                )


def shared_memory(source: str) -> int:
    """Bytes of a kernel's shared variables, as far as their sizes are literals.

    >>> shared_memory("shared vec4 tile[8][16];\\nshared float most;")
    2052
    """
    return sum(
        _ITEM_SIZES.get(kind, 4) * prod(int(size) for size in re.findall(r"\d+", extents))
        for kind, extents in _SHARED.findall(source)
    )


def bindings(source: str) -> int:
    """The number of buffers that a kernel uses: one more than its highest binding.

    >>> bindings("layout(std430, binding = 1) buffer y_buffer { vec4 y[]; };")
    2
    """
    return 1 + max((int(number) for number in _BINDING.findall(source)), default=-1)
