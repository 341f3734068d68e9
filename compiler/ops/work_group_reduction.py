"""Work-group reductions: how many work-items compute one result together."""

from __future__ import annotations

from ..target import Target

MIN_GROUP = 64
"""Fewest work-items that are worth their barriers: 256 / 4, as in LiteRT's tasks/reduce.cc."""


def group_size(parts: int, target: Target) -> int:
    """The work-items that reduce `parts` parts together: a power of two, at most one per part.

    1 on processors, where a work-group runs on a single core and vectors already share the work.
    """
    most = 1 if target.on_processor else min(parts, target.device.max_group)
    return 1 << (max(most, 1).bit_length() - 1)


def too_few_parts(parts: int, results: int, target: Target) -> str | None:
    """Why a work-group for each of so many results of `parts` parts does not pay; None if it does.

    Where single work-items would leave most of the device idle, a warp is enough for a group.
    """
    idle = 4 * results < target.device.work_items
    least = min(MIN_GROUP, target.device.warp) if idle else MIN_GROUP
    if target.on_processor or group_size(parts, target) < least:
        return "there is too little work for a work-group reduction"
    return None
