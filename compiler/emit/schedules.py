"""Schedules: what a runtime submits to the device in a run, and where it needs memory barriers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from ...runtime.plan.facts import submitted
from ...runtime.plan.records import Argument, Plan, Region
from ...runtime.plan.running import Schedule, Submission

OPENCL_OPTIONS = "-cl-mad-enable -cl-denorms-are-zero -w"
"""Denormal numbers, which many processors compute slowly, may be taken for zeros."""
PERSISTENT_OPTIONS = f"{OPENCL_OPTIONS} -cl-std=CL3.0"
"""With persistent kernels: OpenCL C has ordered atomics since version 2.0."""
OPTIONS = {"opencl": OPENCL_OPTIONS}
"""By target, the options of drivers' compilers; the others have none."""


def schedules(plan: Plan) -> tuple[Schedule, ...]:
    """A submission for each dispatch; and one with the plan's persistent kernels, if it has any."""
    options = (OPTIONS.get(plan.target, ""), PERSISTENT_OPTIONS)
    return tuple(map(partial(_schedule, plan), submitted(plan), options))


def _schedule(plan: Plan, submissions: Sequence[Submission], options: str) -> Schedule:
    launched = [plan.launched(item) for item in submissions]
    needed = barriers([item.arguments for item in launched])
    ordered = tuple(
        Submission(item.first, item.persistent, barrier)
        for item, barrier in zip(submissions, needed, strict=True)
    )
    return Schedule(ordered, tuple(sorted({item.kernel for item in launched})), options)


def barriers(launched: Sequence[Iterable[Argument]]) -> list[bool]:
    """For the arguments of each submission, whether a memory barrier must precede it.

    It must if the submission reads bytes written since the last barrier, or writes bytes read or
    written since then. A run starts with a barrier of its own, so the first needs none.
    """
    needed = []
    since: list[Argument] = []
    for arguments in launched:
        # Weights and inputs are never written, so there can be no conflict.
        used = [
            argument
            for argument in arguments
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
