"""The limits of an OpenGL device, and whether a plan stays within them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
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


def exceeded_limit(plan: Plan, limits: Limits) -> str | None:
    """The first limit that a plan exceeds, as text with both numbers; None if there is none."""
    for kernel in plan.kernels:
        for problem in _kernel(kernel, limits):
            return problem
    return exceeded_limit_of_dispatches(plan, limits)


def exceeded_limit_of_dispatches(plan: Plan, limits: Limits) -> str | None:
    """The same for dispatches only; kernels restored from a binary have been checked before."""
    return next(_dispatches(plan, limits), None)


def _kernel(kernel: Kernel, limits: Limits) -> Iterator[str]:
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
    if kernel.shared_memory > limits.shared_memory:
        yield (
            f"{kernel.file} uses {kernel.shared_memory} bytes of shared memory, but this device "
            f"has {limits.shared_memory}"
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
