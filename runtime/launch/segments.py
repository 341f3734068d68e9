"""Where the parts on LiteRT divide a schedule."""

from __future__ import annotations

from bisect import bisect_left

from ..plan.records import Plan
from ..plan.running import Schedule


def segments(plan: Plan, schedule: Schedule) -> list[slice]:
    """The submissions before each part on LiteRT, then those after the last part."""
    firsts = [submission.first for submission in schedule.submissions]
    ends = [bisect_left(firsts, part.before) for part in plan.parts]
    return [slice(*pair) for pair in zip([0, *ends], [*ends, len(firsts)], strict=True)]
