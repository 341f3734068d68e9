"""What an OpenGL device can take, and whether a plan stays within it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from ..plan.records import Kernel, Plan
from .egl import Context

_SHARED = re.compile(r"^\s*shared\s+(\w+)\s+\w+\s*((?:\[\s*\d+\s*\])*)\s*;", re.MULTILINE)
_BINDING = re.compile(r"\bbinding\s*=\s*(\d+)")
_ITEM_SIZES = {"vec2": 8, "vec3": 16, "vec4": 16, "ivec2": 8, "ivec4": 16, "uvec4": 16}
"""Bytes of the types that are not 4 bytes long."""


@dataclass(frozen=True)
class Limits:
    """The limits of a device that matter to compute kernels."""

    alignment: int
    """Bytes a buffer range's offset must be a multiple of."""
    block_size: int
    """Bytes of the longest buffer range a kernel can be given."""
    buffers: int
    """Buffers a kernel can be given."""
    shared_memory: int
    """Bytes a work-group can share."""
    group: int
    """Work-items a work-group may have."""
    group_sizes: tuple[int, ...]
    """Work-items a work-group may have in each dimension."""
    group_counts: tuple[int, ...]
    """Work-groups a launch may have in each dimension."""


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

    # GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT, GL_MAX_SHADER_STORAGE_BLOCK_SIZE and, after those,
    # GL_MAX_COMPUTE_* as the fields are called.
    return Limits(
        alignment=max(1, integer(0x90DF)),
        block_size=integer(0x90DE),
        buffers=integer(0x90DB),
        shared_memory=integer(0x8262),
        group=integer(0x90EB),
        group_sizes=integers(0x91BF),
        group_counts=integers(0x91BE),
    )


def excess(plan: Plan, sources: Mapping[str, str], limits: Limits) -> str | None:
    """The first thing in a plan that is more than the device takes, with both figures."""
    for kernel in plan.kernels:
        for problem in _kernel(kernel, sources[kernel.file], limits):
            return problem
    return excess_of_launches(plan, limits)


def excess_of_launches(plan: Plan, limits: Limits) -> str | None:
    """As `excess`, of grids and buffers alone: kernels that were compiled need no second look."""
    return next(_dispatches(plan, limits), None)


def _kernel(kernel: Kernel, source: str, limits: Limits) -> Iterator[str]:
    if prod(kernel.group) > limits.group:
        yield (
            f"{kernel.file} has work-groups of {prod(kernel.group)} work-items, this device "
            f"takes {limits.group}"
        )
    for axis, size, limit in zip("xyz", kernel.group, limits.group_sizes, strict=True):
        if size > limit:
            yield (
                f"{kernel.file} has work-groups of {size} work-items along {axis}, this device "
                f"takes {limit}"
            )
    shared = shared_memory(source)
    if shared > limits.shared_memory:
        yield (
            f"{kernel.file} shares {shared} bytes in a work-group, this device has "
            f"{limits.shared_memory}"
        )


def _dispatches(plan: Plan, limits: Limits) -> Iterator[str]:
    for index, dispatch in enumerate(plan.dispatches):
        name = f"dispatch {index} ({dispatch.label})"
        group = plan.kernels[dispatch.kernel].group
        counts = tuple(size // part for size, part in zip(dispatch.grid, group, strict=True))
        for axis, count, limit in zip("xyz", counts, limits.group_counts, strict=True):
            if count > limit:
                yield f"{name} has {count} work-groups along {axis}, this device takes {limit}"
        if len(dispatch.arguments) > limits.buffers:
            yield (
                f"{name} has {len(dispatch.arguments)} storage buffers, this device takes "
                f"{limits.buffers}"
            )
        for argument in dispatch.arguments:
            if argument.size > limits.block_size:
                yield (
                    f"{name} has a storage buffer of {argument.size} bytes, this device takes "
                    f"{limits.block_size}"
                )


def shared_memory(source: str) -> int:
    """Bytes of the variables a kernel's work-items share, as far as their sizes are literals.

    >>> shared_memory("shared vec4 tile[8][16];\\nshared float most;")
    2052
    """
    return sum(
        _ITEM_SIZES.get(kind, 4) * prod(int(size) for size in re.findall(r"\d+", extents))
        for kind, extents in _SHARED.findall(source)
    )


def bindings(source: str) -> int:
    """How many buffers a kernel takes: one more than its highest binding.

    >>> bindings("layout(std430, binding = 1) buffer y_buffer { vec4 y[]; };")
    2
    """
    return 1 + max((int(number) for number in _BINDING.findall(source)), default=-1)
