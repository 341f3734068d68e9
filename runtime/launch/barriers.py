"""Where launches have to wait for what was written before them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..plan.records import Argument, Region
from .schedule import Step


def barriers(steps: Sequence[Step]) -> list[bool]:
    """For each step, whether a memory barrier has to come before it.

    One is needed where a step reads bytes written since the last barrier, or writes bytes read
    or written since then. Before the first there is none: a run begins with one of its own.
    """
    needed = []
    since: list[Argument] = []
    for step in steps:
        # Weights and inputs are never written, so nothing can clash there.
        touched = [
            argument
            for argument in step.arguments
            if argument.size and argument.region not in (Region.WEIGHTS, Region.INPUT)
        ]
        clash = any(_clash(argument, since) for argument in touched)
        needed.append(clash)
        since = touched if clash else since + touched
    return needed


def _clash(argument: Argument, others: Iterable[Argument]) -> bool:
    """Whether an argument covers bytes another does, and one of the two writes them."""
    return any(
        (argument.writes or other.writes)
        and (argument.region, argument.index) == (other.region, other.index)
        and argument.offset < other.offset + other.size
        and other.offset < argument.offset + argument.size
        for other in others
    )
