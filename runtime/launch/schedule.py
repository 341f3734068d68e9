"""What a run submits to the device, and where it needs memory barriers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..plan.records import Argument, Plan, Region


@dataclass(frozen=True)
class Submission:
    """A kernel over a grid: a dispatch, or a persistent kernel that computes several."""

    kernel: int
    """Index into `Plan.kernels`."""
    grid: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    counters: int
    """Bytes of the buffer that precedes the arguments; 0 if there is none."""
    first: int
    """The first dispatch it computes."""


def schedule(plan: Plan, resident_groups: int) -> list[Submission]:
    """The submissions of a run, in order.

    `resident_groups` is the number of work-groups to launch a persistent kernel with; with 0, every
    dispatch is submitted by itself.
    """
    persistent = {record.first: record for record in plan.persistent if resident_groups}
    submissions = []
    done = 0
    for index, dispatch in enumerate(plan.dispatches):
        if index < done:
            continue
        record = persistent.get(index)
        if record is None:
            arguments = dispatch.arguments
            submissions.append(Submission(dispatch.kernel, dispatch.grid, arguments, 0, index))
        else:
            grid, counters = (resident_groups, 1, 1), record.counters
            submissions.append(Submission(record.kernel, grid, record.arguments, counters, index))
            done = record.end
    return submissions


def segments(plan: Plan, submissions: Sequence[Submission]) -> list[slice]:
    """The submissions before each part on LiteRT, then those after the last part."""
    firsts = [submission.first for submission in submissions]
    ends = [bisect_left(firsts, part.before) for part in plan.parts]
    return [slice(*pair) for pair in zip([0, *ends], [*ends, len(submissions)], strict=True)]


def used_kernels(submissions: Iterable[Submission]) -> list[int]:
    """The kernels that are submitted, each once, in the plan's order."""
    return sorted({submission.kernel for submission in submissions})


def barriers(submissions: Sequence[Submission]) -> list[bool]:
    """For each submission, whether a memory barrier must precede it.

    It must if the submission reads bytes written since the last barrier, or writes bytes read or
    written since then. A run starts with a barrier of its own, so the first needs none.
    """
    needed = []
    since: list[Argument] = []
    for submission in submissions:
        # Weights and inputs are never written, so there can be no conflict.
        used = [
            argument
            for argument in submission.arguments
            if argument.size and argument.region not in (Region.WEIGHTS, Region.INPUT)
        ]
        conflict = any(_conflicts(argument, since) for argument in used)
        needed.append(conflict)
        since = used if conflict else since + used
    return needed


def _conflicts(argument: Argument, others: Iterable[Argument]) -> bool:
    """Whether an argument overlaps one of the others, and at least one of the two writes."""
    return any(
        (argument.writes or other.writes)
        and (argument.region, argument.index) == (other.region, other.index)
        and argument.offset < other.offset + other.size
        and other.offset < argument.offset + argument.size
        for other in others
    )
