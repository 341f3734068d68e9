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


def too_few_parts(parts: int, target: Target) -> str | None:
    """Why a work-group reduction of `parts` parts does not pay; None if it does."""
    if group_size(parts, target) < MIN_GROUP:
        return "there is too little work for a work-group reduction"
    return None
