"""What a run launches: persistent kernels for the dispatches they compute, or each on its own."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..plan.records import Argument, Plan


@dataclass(frozen=True)
class Step:
    """One launch of a run."""

    kernel: int
    """Index into `Plan.kernels`."""
    grid: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    counters: int
    """Bytes of the buffer in front of the arguments; 0 if there is none."""
    first: int
    """The first dispatch it computes."""


def schedule(plan: Plan, resident_groups: int) -> list[Step]:
    """The launches of a run, in their order.

    `resident_groups` is how many work-groups of a persistent kernel a device should get; with 0
    every dispatch is a launch of its own.
    """
    kernels = {record.first: record for record in plan.persistent if resident_groups}
    steps = []
    done = 0
    for index, dispatch in enumerate(plan.dispatches):
        if index < done:
            continue
        record = kernels.get(index)
        if record is None:
            steps.append(Step(dispatch.kernel, dispatch.grid, dispatch.arguments, 0, index))
        else:
            grid = (resident_groups, 1, 1)
            steps.append(Step(record.kernel, grid, record.arguments, record.counters, index))
            done = record.end
    return steps


def between_parts(plan: Plan, steps: Sequence[Step]) -> list[slice]:
    """The steps in front of each part on LiteRT, and those behind the last."""
    firsts = [step.first for step in steps]
    ends = [bisect_left(firsts, part.before) for part in plan.parts]
    return [slice(*pair) for pair in zip([0, *ends], [*ends, len(steps)], strict=True)]


def used_kernels(steps: Iterable[Step]) -> list[int]:
    """The kernels that steps launch, each once, in the plan's order."""
    return sorted({step.kernel for step in steps})
