"""How many work-items share one result, where a whole work-group computes it."""

from __future__ import annotations

from ..target import Target

LEAST = 64
"""Work-items that are worth their barriers: a quarter of 256, as in LiteRT's tasks/reduce.cc."""


def team(parts: int, target: Target) -> int:
    """A power of two, at most one work-item for each of the parts there are to do.

    One where the profile gives heavy kernels groups of one, as on processors: a work-group runs on
    one core there, and vectors already share the work.
    """
    most = 1 if target.on_processor else min(parts, target.device.max_group)
    return 1 << (max(most, 1).bit_length() - 1)


def too_small(parts: int, target: Target) -> str | None:
    """Why there is no team worth its barriers for that many parts."""
    if team(parts, target) < LEAST:
        return "there is too little for a work-group to share"
    return None
