"""Work-group sizes: the profile's choice for a launch, and candidates for tuning."""

from __future__ import annotations

from itertools import product
from math import log2, prod

from ..ops.base import Launch, WorkGroup
from ..target import Target

WASTE = 1.25
"""Most work-items that a tuned group may start per work-item of the grid."""

DEEPEST = 64
"""Most work-items of a group along the third axis: the minimum that OpenGL ES and Vulkan guarantee,
and NVIDIA's limit in OpenCL."""


def budget(launch: Launch, target: Target) -> int:
    """Work-items of a group by the device profile."""
    return target.device.heavy_group if launch.heavy else target.device.light_group


def choose_group(launch: Launch, target: Target) -> WorkGroup:
    """A group of the profile's size, filled from the first axis on, that wastes little."""
    left = budget(launch, target)
    group = []
    for axis, size in enumerate(launch.grid):
        columns = target.device.group_columns if launch.heavy and axis == 0 else left
        part = min(size, left, DEEPEST if axis == 2 else columns)
        if size % part:
            divisors = [d for d in range(part, part // 2, -1) if size % d == 0]
            part = divisors[0] if divisors else part
        group.append(part)
        left = max(left // part, 1)
    return (group[0], group[1], group[2])


def explain_group(launch: Launch, target: Target) -> str:
    """Why a launch has the group that its kernel requires or `choose_group` returns."""
    if launch.group is not None:
        return "required by the kernel"
    work = "heavy" if launch.heavy else "light"
    return f"up to {budget(launch, target)} for {work} work"


def groups_worth_trying(launch: Launch, target: Target) -> list[WorkGroup]:
    """The group of `choose_group`, then powers of two, the closest in size first."""
    chosen = choose_group(launch, target)
    limit = min(target.device.max_group, 256)
    columns, rows, outer = ([1 << k for k in range(9) if 1 << k < 2 * size] for size in launch.grid)
    fitting = [
        group
        for group in product(columns, rows, outer)
        if prod(group) <= limit and group[2] <= DEEPEST and _waste(group, launch.grid) <= WASTE
    ]

    def distance(group: WorkGroup) -> tuple[float, float, int]:
        return (abs(log2(prod(group) / prod(chosen))), _waste(group, launch.grid), -group[0])

    return list(dict.fromkeys([chosen, *sorted(fitting, key=distance)]))


def _waste(group: WorkGroup, grid: tuple[int, int, int]) -> float:
    started = prod(-(-size // part) * part for size, part in zip(grid, group, strict=True))
    return started / prod(grid)
